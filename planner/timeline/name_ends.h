// NameEnds: how far a forward without gradients depends on names of Python's variables, where the file does not say
// them. Nothing saves a tensor there, so a name is all that keeps it.
//
//   fewest   every tensor dies with its last reader              470 MiB requested
//   likely   rules and habits, Schedule                          490 MiB
//   most     results that are not handed on keep a name          530 MiB
#pragma once

#include "graph/base/result.h"
#include "planner/timeline/lifetimes.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Whether names are guessed, and hold memory: an inference in PyTorch, of a file without source lines.
bool NamesAreGuessed(const Layers& layers, const TrainingSpec& spec);

// Schedule, with these names.
Result<Timeline> ScheduleAs(Naming naming, const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
