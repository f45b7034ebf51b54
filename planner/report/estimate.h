// Estimate: how much memory a step takes, and what takes it ("vramplan.estimate/1").
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "graph/base/note.h"
#include "planner/allocator/replay.h"
#include "planner/report/parts/assumption.h"
#include "planner/report/parts/device_band.h"
#include "planner/report/parts/layer_table.h"
#include "planner/report/parts/model_facts.h"
#include "planner/report/verdict.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"
#include "planner/spec/device.h"

namespace vramplan {

// An option that acted, as the user would type it (without dashes), and whether they did.
struct SpecRow {
  std::string option;  // "optimizer-impl"; JSON writes "optimizer_impl"
  Json value;
  std::string text;  // the value, as typed
  bool given = false;
  std::string phrase = {};  // how people are told it; empty: the option and the text
};

// Who asked for the allocation that reaches the peak.
struct PeakPlace {
  std::string node;         // name of the layer; the framework's operator where no layer asks
  std::string op;           // the framework's operator
  bool validation = false;  // --eval-batch: it is not in a step of the training
};
PeakPlace PlaceOf(const Peak& peak, const Timeline& timeline, const Layers& layers);

// What every answer about a step begins with.
struct AnswerHead {
  ModelFacts model;
  Mode mode = Mode::kTrain;
  int64_t batch = 1;
  bool batch_given = false;
  int ranks = 1;  // cards that share the model; the answer is of each
  Runtime runtime = Runtime::kPyTorch;
  std::map<std::string, int64_t> usual_lengths;  // of a named model, those that --dim left out
  Loss loss = Loss::kNone;                       // that --loss auto came to, where the answer says it
  std::vector<SpecRow> spec;
};

// "batch 4"; of a mode that serves "4 sequences".
std::string BatchText(Mode mode, int64_t batch);
// Where it runs: "A100 80GB", or "each of 4 cards (A100 80GB)".
std::string PlaceText(const AnswerHead& head, const Device& device);

struct Estimate : OnCard {
  AnswerHead head;
  PeakPlace place;
  ContextBand context;
  std::optional<Device> device;  // when a card was named; else the verdict means nothing
  int training_steps = 3;        // those beyond them are batches of a validation
  std::vector<LayerRow> layers;
  std::vector<Bytes> over_step;          // requested over its first two steps, for a sparkline
  std::optional<PeakSegments> segments;  // --segments
  std::vector<Assumption> assumptions;
  Notes notes;
};

// "unet.onnx needs 14.43 GiB to train at batch 38 on Tesla T4, which has 14.56 GiB (tight)".
// "unet.onnx training at batch 60 does not fit on Tesla T4: needs 23.47 GiB of 14.56 GiB (8.91 GiB too much)": of every
// verb about a step.
std::string StepVerdictText(const AnswerHead& head, Verdict verdict, const Device& device, const DeviceBand& band);
// That where a card is named, else what the step needs.
std::string VerdictLine(const Estimate& estimate);
std::string PrintEstimate(const Estimate& estimate, const Style& style);
Json ToJson(const Estimate& estimate);

// Inference lays out two forwards, the second beside the outputs of the first; scripts are told of the first, as one
// step.
size_t StepsToPrint(const AnswerHead& head, const Peak& peak);

// Shared with fit and plan.
std::string StepsText(Mode mode);  // "steps 1 and 2": what a sparkline of the step shows
std::string CardText(
    const Device& device);  // "Tesla T4", "Tesla T4 (its memory as given)", "... (others hold 600.00 MiB of it)"
// "given: ...\nassumed: ...\n". Unless the style is verbose: without what the verdict says, and of what is assumed only
// what people choose first.
std::string PrintSpec(const std::vector<SpecRow>& spec, const Style& style);
// Of a runtime that takes its memory before it needs it: what nvidia-smi shows whatever the model; "" of others.
std::string PoolText(const Device& device, Bytes needs);
// What is more at the end of the first step than at its begin, and of a validation which of the two peaks is higher;
// "" where neither is worth a line.
std::string FirstStepText(const Peak& peak, int training_steps, Mode mode);
std::string PrintPlace(const Peak& peak, const PeakPlace& place);  // "step 2, backward, at NODE (OP)"

}  // namespace vramplan
