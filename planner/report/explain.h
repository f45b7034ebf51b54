// Explain: an out-of-memory message in words, and beside the step of the model that it is about
// ("vramplan.explain/1").
//
//   out of memory on a card of 14.56 GiB: 624.00 MiB more did not fit, the step needs more than the card has
//   unet.onnx at batch 39 asks for it in the backward of step 2: 624.00 MiB for gradient of ..., at /up.3/conv/net/...
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/oom/cause.h"
#include "planner/oom/match.h"
#include "planner/report/estimate.h"
#include "planner/solver/batch_search.h"

namespace vramplan {

// --model: the step that the message is about.
struct ExplainedStep {
  AnswerHead head;  // its batch: given, or the one that was found
  bool batch_found = false;
  bool version_told = false;  // the message says that PyTorch was older than 2.0
  std::optional<RequestMatch> match;
  Bytes room;                         // what the allocator could take there
  bool room_told = false;             // by the message; else the card's size less a context
  std::optional<Bottleneck> refused;  // of the same step replayed in that room; nothing: it fits
  // The same with expandable segments: whether it fits; nothing: not another allocator, or it made no difference.
  bool expandable_fits = false;
  std::optional<LargestBatch> largest;  // in that room
  std::string plan;                     // the command line that says what to change; of what does not train, what fits
};

// --model, and the message is of vLLM, which runs no step of the model that could be laid out.
struct ServedModel {
  std::string verdict;  // whether vllm serve starts with it on that card
  std::string command;  // the command line that says more; that of `fit --engine vllm`
  std::string dim;      // "sequence=23376": the context, where the message says it
  Bytes others;         // what others hold of the card, by the message
};

// A row of the table of where the card's memory was; `color` is the picture's.
struct ShareRow {
  const char* name;
  Bytes bytes;
  const char* color;
};

struct ExplainReport {
  std::string file;  // where the message stood, without folders
  OutOfMemory message;
  OutOfMemoryCause cause = OutOfMemoryCause::kNoNumbers;
  CardShares shares;
  std::optional<ExplainedStep> step;
  std::optional<ServedModel> served;
  std::string saved;  // --save: the profile that has what the message says about the card; empty: none
  Notes notes;
};

// Nothing: the message does not say how large the card is, or nothing else.
std::vector<ShareRow> ShareRows(const ExplainReport& report);

std::string PrintExplain(const ExplainReport& report, const Style& style);
Json ToJson(const ExplainReport& report);

}  // namespace vramplan
