// Prepare: the stages that every answer about a step shares: the model becomes Layers, and a batch is chosen; the
// card is chosen beside it (choose_device.h).
#pragma once

#include <optional>
#include <string>

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/shapes/infer.h"
#include "planner/answers/choose_device.h"
#include "planner/answers/question.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/report/estimate.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct Prepared {
  Graph graph;
  Binding binding;
  Shapes shapes;
  Layers layers;
  Lifetimes lifetimes;                  // in PyTorch; empty for another runtime
  std::vector<TrainedPattern> trained;  // what decided which parameters are trained: assumed, then given
  std::string assumed_frozen;           // what of that was assumed, a sentence; empty: nothing
  AnswerHead head;                      // without the spec rows
  Notes notes;
};
Result<Prepared> Prepare(const Question& question);
// Of an answer about one batch, on its card, if there is one: with the card's notes, and "assumed-batch" where none is given.
Result<Prepared> PrepareForBatch(const Question& question, const std::optional<ChosenDevice>& chosen);

// Its step, with the lifetimes that Prepare found.
Result<Timeline> LayOut(const Prepared& prepared, const TrainingSpec& spec, int64_t batch, Notes* notes);

// A step of a question at its batch, on its card, if there is one.
struct LaidOutStep {
  Prepared prepared;
  TrainingSpec spec;
  Timeline timeline;
};
// Prepare and LayOut for an answer about one batch. Errors: of both.
Result<LaidOutStep> LayOutQuestion(const Question& question, const std::optional<ChosenDevice>& chosen);

// Reads --second-model into the spec. Its dims are those of the question; it is neither trained nor asked about.
Status TakeSecondModel(Question* question);

}  // namespace vramplan
