// Backward: PyTorch's autograd engine (torch/csrc/autograd/engine.cpp): runs the tape from the loss, latest entry
// first, and adds what arrives at parameters to their .grad.
//
//   per entry   gradient in + saved  ->  gradients out  ->  gradient in freed, then saved freed
//   fan-in      a gradient that meets another is added in place when nobody else holds the first (input_buffer.cpp),
//   else into a new tensor parameter   the gradient is taken over as .grad when nobody else holds it and it lies like
//   the parameter, else copied (accumulate_grad.h) broadcast   a gradient larger than its tensor is summed before its
//   entry lets go (validate_outputs)
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan {

// loss.backward(). Leaves with a .grad already are added to in place.
void Backward(eager::Eager& e, const eager::Tensor& loss);

}  // namespace vramplan
