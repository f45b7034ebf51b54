// Views: the same storage under other sizes and strides; no memory, but they pin the storage that they look at. Where
// no strides can say the new sizes a copy is made: reshape after transpose. Their gradients are views again, except for
// select, slice, split and unbind, which build a tensor of the whole (torch/csrc/autograd/FunctionsManual.cpp).
#pragma once

#include <optional>
#include <vector>

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// at::detail::computeStride (aten/src/ATen/TensorUtils.cpp): strides of `lengths` over t's storage, if there are any.
std::optional<Ints> ViewStrides(const TensorImpl& t, const Ints& lengths);

Tensor View(Eager& e, const Tensor& t, const Shape& sizes);
Tensor Strided(Eager& e, const Tensor& t, const Shape& sizes, const Ints& strides,
               const char* node_name);                          // as view; copies like reshape when it must
Tensor Reshape(Eager& e, const Tensor& t, const Shape& sizes);  // a view, or clone(contiguous) + _unsafe_view
Tensor UnsafeView(Eager& e, const Tensor& t, const Shape& sizes);
Tensor Permute(Eager& e, const Tensor& t, const std::vector<int>& axes);
Tensor Transpose(Eager& e, const Tensor& t, int axis0, int axis1);
Tensor T(Eager& e, const Tensor& t);  // of a matrix
Tensor Expand(Eager& e, const Tensor& t, const Shape& sizes);
Tensor Select(Eager& e, const Tensor& t, int axis);
// The axes `first` and `second` become one, the last.
Tensor Diagonal(Eager& e, const Tensor& t, int64_t offset, int first, int second);
Tensor Slice(Eager& e, const Tensor& t, int axis, Dim length, int64_t step);
Tensor Squeeze(Eager& e, const Tensor& t, const Shape& sizes);  // also unsqueeze: only axes of length 1 differ
std::vector<Tensor> Split(Eager& e, const Tensor& t, int axis, const std::vector<Dim>& lengths);
std::vector<Tensor> Unbind(Eager& e, const Tensor& t, int axis);
Tensor Contiguous(Eager& e, const Tensor& t);                        // t itself, or a clone
Tensor Clone(Eager& e, const Tensor& t, bool keeps_layout = false);  // contiguous, or torch.preserve_format
Tensor CloneChannelsLast(Eager& e, const Tensor& t);                 // in that layout

// Gradient of a broadcast: `t` summed to `sizes` (at::sum_to); t itself when it has them already. Not on the tape.
Tensor SumTo(Eager& e, const Tensor& t, const Shape& sizes);

}  // namespace vramplan::eager
