// The order of blocks was seen in PyTorch 2.10 and 2.15 on a card of capability 7.5, bf16, one case each.
#include "planner/semantics/convolution_native.h"

#include <array>
#include <utility>
#include <vector>

#include "planner/semantics/blas.h"
#include "planner/semantics/concat.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

using ThreeGradients = std::array<Tensor, 3>;  // input, weight, bias
using Needed = std::array<bool, 3>;

// One sample's patches: [channels * window, positions], on the side that the kernel slides over.
Tensor Columns(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight, const Shape& output) {
  const bool transposed = how.kernel == NativeKernel::kTransposed;
  Dim rows = transposed ? output[1] : input->sizes[1], positions(1);
  const Shape& slid = transposed ? input->sizes : output;
  for (int i = 2; i < weight->dim(); ++i) rows = rows * weight->sizes[i];
  for (int i = 2; i < slid.rank(); ++i) positions = positions * slid[i];
  return e.Empty(Shape{rows, positions}, input->dtype);
}

// slow_conv_transpose3d makes its output like the input and resizes it, which gives no memory back.
Tensor OutputOfTransposed3d(Eager& e, const Tensor& input, const Shape& sizes) {
  const Tensor first = e.EmptyLike(input);
  const Ints lengths = e.At(sizes);
  int64_t elements = 1;
  for (int i = 0; i < lengths.n; ++i) elements = SaturatingMultiply(elements, lengths[i]);
  if (elements > input->numel()) return e.Empty(sizes, input->dtype);
  return e.Alias(e.AsStrided(first, sizes, ContiguousStrides(lengths)));
}

Tensor OneGroup(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight, const Shape& sizes) {
  const bool transposed = how.kernel == NativeKernel::kTransposed;
  Tensor out = transposed && input->dim() == 5 ? OutputOfTransposed3d(e, input, sizes) : e.Empty(sizes, input->dtype);
  const bool columns_needed = how.kernel != NativeKernel::kMatrix || !how.pointwise;
  const Tensor columns = columns_needed ? Columns(e, how, input, weight, sizes) : Tensor();
  Tensor ones;  // the transposed kernel adds its bias by a product
  if (transposed && how.biased) {
    Dim positions(1);
    for (int i = 2; i < sizes.rank(); ++i) positions = positions * sizes[i];
    ones = e.Empty(Shape{positions}, input->dtype);
  }
  { const Storage workspace = CublasWorkspace(e); }
  ones = Tensor();
  return out;
}

Tensor BiasLike(Eager& e, const Tensor& gradient) { return e.Empty(Shape{gradient->sizes[1]}, gradient->dtype); }

ThreeGradients MatrixGradients(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                               const Tensor& gradient, const Needed& needed) {
  ThreeGradients made;
  Tensor columns;
  if (needed[0]) {
    made[0] = e.Empty(input->sizes, input->dtype);
    columns = Columns(e, how, input, weight, gradient->sizes);
    const Storage workspace = CublasWorkspace(e);
  }
  if (needed[2]) made[2] = BiasGradient(e, gradient);
  if (needed[1]) {
    made[1] = e.Empty(weight->sizes, weight->dtype);
    if (!columns) columns = Columns(e, how, input, weight, gradient->sizes);
    const Storage workspace = CublasWorkspace(e);
  }
  return made;
}

ThreeGradients DilatedGradients(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                                const Tensor& gradient, const Needed& needed) {
  ThreeGradients made;
  if (needed[0]) made[0] = e.Empty(input->sizes, input->dtype);
  if (needed[1]) made[1] = e.Empty(weight->sizes, weight->dtype);
  if (needed[2]) made[2] = BiasLike(e, gradient);
  const Tensor columns = Columns(e, how, input, weight, gradient->sizes);
  { const Storage workspace = CublasWorkspace(e); }
  // Each sample's sum is added to the bias' gradient; one stands for all.
  if (needed[2]) const Tensor sum = BiasGradient(e, Slice(e, gradient, 0, Dim(1), 1));
  return made;
}

ThreeGradients TransposedGradients(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                                   const Tensor& gradient, const Needed& needed) {
  ThreeGradients made;
  const auto multiply = [&] {
    const Tensor columns = how.pointwise ? Tensor() : Columns(e, how, input, weight, gradient->sizes);
    const Storage workspace = CublasWorkspace(e);
  };
  if (needed[0]) {
    made[0] = e.Empty(input->sizes, input->dtype);
    multiply();
  }
  if (needed[1]) made[1] = e.Empty(weight->sizes, weight->dtype);
  if (needed[2]) made[2] = BiasLike(e, gradient);
  if (needed[1]) multiply();
  return made;
}

ThreeGradients OneGroupGradients(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                                 const Tensor& gradient, const Needed& needed) {
  if (how.kernel == NativeKernel::kMatrix) return MatrixGradients(e, how, input, weight, gradient, needed);
  if (how.kernel == NativeKernel::kDilated) return DilatedGradients(e, how, input, weight, gradient, needed);
  return TransposedGradients(e, how, input, weight, gradient, needed);
}

// subtensor (Convolution.cpp): the group's share along `axis`, contiguous.
Tensor Part(Eager& e, const Tensor& t, int axis, int64_t groups) {
  return ContiguousIn(e, Slice(e, t, axis, Dim(t->lengths[axis] / groups), 1), false);
}

}  // namespace

Tensor NativeForward(Eager& e, const NativeConvolution& how, const Tensor& given, const Tensor& filter,
                     const Shape& sizes) {
  const Tensor input = ContiguousIn(e, given, false), weight = ContiguousIn(e, filter, false);
  if (how.groups == 1) return OneGroup(e, how, input, weight, sizes);
  const NoGradGuard below_the_tape(e);
  std::vector<Tensor> parts;
  Shape part = sizes;
  part[1] = Dim(e.At(sizes[1]) / how.groups);
  for (int64_t i = 0; i < how.groups; ++i)
    parts.push_back(OneGroup(e, how, Part(e, input, 1, how.groups), Part(e, weight, 0, how.groups), part));
  return Cat(e, parts, 1);
}

void NativeGradients(GradContext& g, const NativeConvolution& how, const Tensor& given, const Tensor& filter,
                     const Tensor& incoming) {
  Eager& e = g.e;
  const Needed needed = {g.Needs(0), g.Needs(1), how.biased && g.Needs(2)};
  const Tensor weight = ContiguousIn(e, filter, false), input = ContiguousIn(e, given, false);
  const Tensor gradient = ContiguousIn(e, incoming, false);
  ThreeGradients made;
  if (how.groups == 1) {
    made = OneGroupGradients(e, how, input, weight, gradient, needed);
  } else {
    std::array<std::vector<Tensor>, 3> parts;
    for (int64_t i = 0; i < how.groups; ++i) {
      const Tensor upper = Part(e, gradient, 1, how.groups), lower = Part(e, input, 1, how.groups);
      ThreeGradients one = OneGroupGradients(e, how, lower, Part(e, weight, 0, how.groups), upper, needed);
      for (size_t k = 0; k < 3; ++k) {
        if (needed[k]) parts[k].push_back(std::move(one[k]));
      }
    }
    for (size_t k = 0; k < 3; ++k) {
      if (needed[k]) made[k] = Cat(e, parts[k], k == 0 ? 1 : 0);
    }
    for (size_t k = 3; k-- > 0;) parts[k].clear();
  }
  for (int k = 0; k < 3; ++k) {
    if (needed[static_cast<size_t>(k)]) g.Set(k, std::move(made[static_cast<size_t>(k)]));
  }
}

Tensor BiasGradient(Eager& e, const Tensor& gradient) {
  std::vector<int> axes = {0};
  for (int i = 2; i < gradient->dim(); ++i) axes.push_back(i);
  return SumKernel(e, gradient, axes, false);
}

}  // namespace vramplan::eager
