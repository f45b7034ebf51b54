// ScheduleStandIn: a step of TensorFlow or JAX, made of the tensors of PyTorch's step. TensorFlow was not measured,
// JAX in twelve steps; what is known to differ is changed, and the rest carries a wide band.
//
//   TensorFlow (Keras, tf.function)   variables and slots as PyTorch's parameters and states; fused update kernels, so
//                                     no temporaries of the optimizer; nothing but variables outlives a step; cuBLAS'
//                                     workspaces are outside its allocator
//   JAX (jit of the whole step)       one block for everything that lives and dies within the step; without donation
//                                     new parameters and states beside the old ones
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/spec/spec.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Errors: those of Schedule; --mode eval.
Result<Timeline> ScheduleStandIn(const Layers& layers, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
