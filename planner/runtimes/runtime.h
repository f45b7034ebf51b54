// The runtimes beside PyTorch: what each needs of the other rooms, and nothing more.
//
//   GraphFor       the layers: lifted to what PyTorch ran, or (ONNX Runtime) the file as it is
//   ScheduleFor    the events of a step; PeaksFor: the most that its phases ask for
//   ArenaOf        its allocator; nothing for PyTorch, which has the caching allocator
//   PoolOn         how much of a card that allocator may take
//   ReservedAround how sure the reserved bytes are
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "graph/lift/lift.h"
#include "planner/allocator/replay.h"
#include "planner/lifetimes/lifetimes.h"
#include "planner/spec/device.h"
#include "planner/spec/spec.h"
#include "planner/timeline/peaks_by_phase.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

Result<Layers> GraphFor(Runtime runtime, const Graph& graph, const Shapes& shapes, const PutBack& put_back,
                        Notes* notes);

// Of PyTorch; nothing in the other runtimes, which have no variables.
Lifetimes LifetimesFor(Runtime runtime, const Layers& layers);

// `releases`: when PyTorch's Python lets go of each value; the other runtimes ask nobody.
Result<Timeline> ScheduleFor(const Layers& layers, const Releases& releases, const TrainingSpec& spec, int64_t batch,
                             Notes* notes);
Result<Timeline> ScheduleFor(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);
// PeaksByPhaseOf the same, which keeps no timeline where it need not.
Result<PeaksByPhase> PeaksFor(const Layers& layers, const Releases& releases, const TrainingSpec& spec, int64_t batch,
                              Notes* notes);
Result<PeaksByPhase> PeaksFor(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

std::optional<BfcConfig> ArenaOf(const TrainingSpec& spec);

// `free_memory`: of the card, once its context is there. TensorFlow leaves 225 MiB to 1.76 GiB to the system, JAX a
// quarter of the card; ONNX Runtime takes what gpu_mem_limit allows.
Pool PoolOn(const TrainingSpec& spec, Bytes usable, Bytes free_memory, Capability capability);

// low <= likely <= high. ONNX Runtime: initializers come in the order of a hash table, which changes from process to
// process, so that doubling regions end up elsewhere; and what its optimisation of the graph does is known in part.
// TensorFlow was not measured, and JAX in twelve steps (tests/accuracy/jax_test.cc): the range is from half to one and a half times the likely value.
struct ReservedRange {
  Bytes low, likely, high;
};
ReservedRange ReservedAround(const Timeline& timeline, const TrainingSpec& spec, int64_t batch,
                             const AllocatorConfig& config, Bytes likely);

// Whether the step fits a capacity even at the high end of that range: for ONNX Runtime in every order of initializers
// that is tried, with 5 % to spare; for TensorFlow and JAX with 50 % to spare.
bool FitsSurely(const Timeline& timeline, const TrainingSpec& spec, int64_t batch, const AllocatorConfig& config,
                Bytes capacity);

}  // namespace vramplan
