// OtherPlans: what `fit` says of a named model beside its answer, each line an answer of the same stages to a changed
// question: what would make it fit; how many sequences of which length it serves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "planner/answers/choose_device.h"
#include "planner/answers/prepare.h"
#include "planner/answers/question.h"
#include "planner/report/fit.h"

namespace vramplan {

// Of a question about `model` whose verdict is `now` at `batch`: checkpoints, an 8-bit optimizer, LoRA, QLoRA, from
// what changes least to what saves most, and more cards; those with which the verdict is better. Of one that serves:
// packed weights. Empty: none, or it is no named model.
std::vector<Remedy> RemediesOf(const Question& asked, const ModelFacts& model, const ChosenDevice& chosen,
                               int64_t batch, Verdict now);

// The question of `plan` with adapters in place of all weights: LoRA, and QLoRA. Empty: it has them, or it is no named
// model that trains.
struct AdaptedStep {
  std::string change, option;
  TrainingSpec spec;
  Prepared prepared;
};
std::vector<AdaptedStep> AdaptedSteps(const Question& question);

// Of a model that serves, `sequences` at once.
Result<Serving> ServingOf(const Question& question, const ChosenDevice& chosen, int64_t sequences);

}  // namespace vramplan
