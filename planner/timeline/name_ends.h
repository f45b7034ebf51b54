// NameEnds: how far a step depends on names of Python's variables, where the file does not say them. Without gradients
// nothing saves a tensor, so a name is all that keeps it; in training it decides about what no operator saves.
//
//   fewest   every tensor dies with its last reader              470 MiB requested
//   likely   rules and habits, Schedule                          490 MiB
//   most     results that are not handed on keep a name          530 MiB
#pragma once

#include "graph/base/result.h"
#include "planner/timeline/lifetimes.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Whether names are guessed, in PyTorch: where source lines leave no doubt, they are not.
bool NamesAreGuessed(const Layers& layers, const TrainingSpec& spec);

// Schedule, with these names.
Result<Timeline> ScheduleAs(Naming naming, const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
