// Backward: PyTorch's autograd engine (torch/csrc/autograd/engine.cpp): runs the tape from the loss, latest entry
// first, and adds what arrives at parameters to their .grad.
//
//   per entry   gradients out are made from the gradient in and the saved tensors; then those two are freed, in order
//   fan-in      the second gradient is added in place if nobody else holds the first, else out of place (input_buffer)
//   parameter   .grad takes the gradient over if nobody else holds it and the strides agree, else it copies it
//   broadcast   a gradient larger than its tensor is summed before its entry is freed (validate_outputs)
//
// Sources: input_buffer.cpp, functions/accumulate_grad.h.
#pragma once

#include <span>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan {

// loss.backward(). Leaves with a .grad already are added to in place.
void Backward(eager::Eager& e, const eager::Tensor& loss);

// torch.autograd.backward(results, gradients) of an entry that is running: those on the tape, which the caller holds.
void BackwardInside(eager::Eager& e, const std::vector<eager::Tensor>& results,
                    std::span<const eager::Tensor> gradients);

}  // namespace vramplan
