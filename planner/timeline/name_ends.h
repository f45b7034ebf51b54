// NameEnds: how far a step depends on names of Python's variables, where the file does not say them. Without gradients
// nothing saves a tensor, so a name is all that keeps it; in training it decides about what no operator saves.
//
//   fewest   every tensor dies with its last reader              470 MiB requested
//   likely   rules and habits, Schedule                          490 MiB
//   most     results that are not handed on keep a name          530 MiB
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/timeline/peaks_by_phase.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Schedule in PyTorch, with these names: one of LifetimesOf(layers), or of layers that differ in no tensor.
Result<Timeline> ScheduleAs(const Releases& releases, const Layers& layers, const TrainingSpec& spec, int64_t batch,
                            Notes* notes);
// What its phases ask for at most, without keeping what they are made of: a third of the memory. Not where
// HasModelsBeside(spec) (around.h), whose events are put between those of a timeline.
Result<PeaksByPhase> PeaksAs(const Releases& releases, const Layers& layers, const TrainingSpec& spec, int64_t batch,
                             Notes* notes);

}  // namespace vramplan
