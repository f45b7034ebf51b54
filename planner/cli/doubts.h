// Doubts: what the file does not say, told as two numbers where the answer depends on it by more than a hundredth.
//
//   note: the file does not say which activations are in place: requested is 1.92 GiB as assumed, 2.41 GiB where none
//   is
#pragma once

#include "graph/base/result.h"
#include "graph/lift/layers.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/spec/spec.h"

namespace vramplan {

// `likely`: requested bytes of the step as it is assumed. Notes "names-guessed" (inference); "inplace-guessed" in the
// place of "assumed-inplace", which goes where nothing depends on it.
Status NoteDoubts(const Layers& layers, const TrainingSpec& spec, int64_t batch, const AllocatorConfig& config,
                  Bytes likely, Notes* notes);

}  // namespace vramplan
