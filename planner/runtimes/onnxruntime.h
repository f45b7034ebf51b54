// ScheduleOnnxRuntime: a session of ONNX Runtime's CUDA provider: initializers, then two runs of the graph as it was
// given. The first asks for every buffer by itself; the second, and all later ones, for one block that holds what the
// first one had (the memory pattern), beside the copies of inputs and outputs.
//
//   arena |          ________     inputs, activations one by one, outputs
//         |   ______/        \____    ____________________
//         |  /  initializers      \__/ one block for all  \___
//         +--------------------------------------------------> events
//            session   run 1           run 2
//
// GivenGraph and PlanBuffers decide which operators run, in which order and with which buffers. Fusions that Fuse does
// not know are not applied; they would need fewer buffers, never more. Not included: scratch of kernels other than
// convolutions, and what cuBLAS and cuDNN keep for themselves (outside the arena, as part of the context).
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/spec/spec.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// `given`: of GivenGraph. Errors: a mode or a precision that ONNX Runtime does not have.
Result<Timeline> ScheduleOnnxRuntime(const Layers& given, const TrainingSpec& spec, int64_t batch, Notes* notes);

}  // namespace vramplan
