// OtherPlans: what `fit` says of a named model beside its answer, each line an answer of the same stages to a changed
// question: what would make it fit; how many sequences of which length it serves.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/cli/choose_device.h"
#include "planner/cli/options.h"
#include "planner/report/fit.h"

namespace vramplan {

// Of a training that does not fit `batch`: checkpoints, an 8-bit optimizer, LoRA, QLoRA, from what changes least to what
// saves most; those with which the batch fits. Empty: none, or it is no named model.
std::vector<Remedy> RemediesOf(const Options& options, const ChosenDevice& chosen, int64_t batch);

// Of a model that serves, `sequences` at once.
Result<Serving> ServingOf(const Options& options, const ChosenDevice& chosen, int64_t sequences);

}  // namespace vramplan
