// VllmStart: whether `vllm serve NAME` starts on a card, and how many tokens and sequences its cache holds (part "vllm"
// of "vramplan.fit/1").
//
//   starts            also with the graphs and kernels at their high ends
//   may start         with them at their low ends alone (tight)
//   does not start    at what vLLM would stop is `stops`
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/report/estimate.h"
#include "planner/report/fit.h"
#include "planner/report/verdict.h"
#include "planner/spec/vllm.h"

namespace vramplan {

// Where vLLM stops, in the order in which it asks.
enum class VllmStop : uint8_t {
  kNowhere,
  kFree,      // less is free than the share that it asks for
  kLoading,   // the weights are more than the card has
  kNoCache,   // nothing is left of the share
  kContext,   // the cache holds less than one sequence of max_model_len
  kSequences  // it starts, and so many sequences are not held at once
};
std::string_view Name(VllmStop stop);

// safe: whatever the graphs and kernels take; most: at the best.
struct CountRange {
  int64_t safe = 0, most = 0;
};

struct VllmStart {
  AnswerHead head;
  Device device;
  std::string id;  // of the catalogue; empty for a bare size
  std::string source;
  std::string dtype;  // --dtype, where the question says it: "float16"
  VllmOptions options;
  VllmBatch batch;
  VllmShare share;
  VllmCache cache;
  Verdict verdict = Verdict::kDoesNotFit;
  VllmStop stops = VllmStop::kNowhere;  // at the low ends; of what is tight: at the high ends
  int64_t context = 0;                  // max_model_len
  bool context_given = false;
  int64_t positions = 0;  // that the model has
  bool has_fp8 = true;    // the card runs attention with a cache in fp8
  int64_t sequences = 1;  // asked for
  Bytes one;              // what one sequence of `context` takes of the cache
  CountRange tokens;      // as vLLM logs them: "GPU KV cache size"
  CountRange longest;     // max_model_len with which it starts; 0: none
  CountRange at_once;     // sequences of `context`
  std::vector<Serving::Row> rows;
  Notes notes;
};

std::string VerdictLine(const VllmStart& start);
std::string PrintVllm(const VllmStart& start, const Style& style);
Json ToJson(const VllmStart& start);
// "vllm serve Qwen/Qwen3-8B --max-model-len 8192\n", below a comment.
std::string VllmCommand(const VllmStart& start);

}  // namespace vramplan
