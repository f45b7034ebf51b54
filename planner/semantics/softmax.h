// Softmax and log-softmax: keep their output. Under autocast the result is fp32: an fp16 input is converted by the
// kernel as it reads, a bfloat16 input by a copy (aten/src/ATen/native/SoftMax.cpp).
//
//   softmax of fp32 [8, 12, 197, 197]: forward +14'902'656 kept; backward +14'902'656 result, +14'902'656 grad *
//   output, - that
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// `type`: of the result; nothing: what autocast says.
Tensor Softmax(Eager& e, const Tensor& x);
Tensor Softmax(Eager& e, const Tensor& x, DType type);
Tensor LogSoftmax(Eager& e, const Tensor& x);
Tensor LogSoftmax(Eager& e, const Tensor& x, DType type);

// The kernels alone, not on the tape.
Tensor SoftmaxKernel(Eager& e, const Tensor& x, DType type);
Tensor SoftmaxBackwardKernel(Eager& e, const Tensor& grad, const Tensor& output, DType input_type);

}  // namespace vramplan::eager
