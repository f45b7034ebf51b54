// Folding: the contents of small tensors, carried through the operators that exporters compute shapes with.
//
//   Shape(x [B, 128, 768]) = [B, 128, 768] --Gather 1--> 128 --Mul 2--> 256 --Concat--> [B, 256] --> Reshape's target
//
// A tensor of a floating type whose values are whole numbers is folded as integers too (Cast(Shape) * 2.0), so that the
// batch survives.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {

// The lengths as plain numbers when they all are, and their product is at most kMaxFolded.
std::optional<std::vector<int64_t>> FoldableDims(const Shape& shape);

// Row-major strides of `dims`; {12, 4, 1} for {2, 3, 4}.
std::vector<int64_t> Strides(const std::vector<int64_t>& dims);

// out[i0, i1, ...] = values[offset + i0*strides[0] + i1*strides[1] + ...]: transposition, slicing (negative strides)
// and broadcasting (stride 0) are all this.
template <typename T>
std::vector<T> Strided(const std::vector<T>& values, const std::vector<int64_t>& dims, int64_t offset,
                       const std::vector<int64_t>& strides) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  std::vector<T> out;
  out.reserve(static_cast<size_t>(count));
  std::vector<int64_t> index(dims.size(), 0);
  for (int64_t i = 0; i < count; ++i) {
    out.push_back(values[static_cast<size_t>(offset)]);
    for (size_t axis = dims.size(); axis-- > 0;) {
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }
  return out;
}

// The strides that read a tensor of shape `dims` as if it had the shape `wide` (numpy broadcast).
std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& dims, const std::vector<int64_t>& wide);

// The only element of an input, as a length; unknown when it has more, or is not known.
Dim ScalarOf(const NodeInference& n, int input);

// Contents of an input, broadcast to `dims`, as lengths: whole reals count. Nothing when not known, or not all whole.
std::optional<std::vector<Dim>> WholeValues(const NodeInference& n, int input, const std::vector<int64_t>& dims);
std::optional<std::vector<double>> RealValues(const NodeInference& n, int input, const std::vector<int64_t>& dims);

// Out(0)'s contents from those of inputs 0 and 1; Op has Dim Of(Dim, Dim) and double Of(double, double).
template <typename Op>
void FoldBinary(NodeInference& n) {
  const TensorFacts& a = n.In(0);
  const TensorFacts& b = n.In(1);
  if (!(a.integers || a.reals) || !(b.integers || b.reals) || !n.Out(0).shape) return;
  const auto dims = FoldableDims(*n.Out(0).shape);
  if (!dims) return;
  const bool real = IsFloating(a.type);
  const auto left = WholeValues(n, 0, *dims), right = WholeValues(n, 1, *dims);
  if (left && right) {
    std::vector<Dim> out;
    bool all_known = true;
    out.reserve(left->size());
    for (size_t i = 0; i < left->size(); ++i) {
      out.push_back(real ? Op::OfWholeReals((*left)[i], (*right)[i]) : Op::Of((*left)[i], (*right)[i]));
      all_known = all_known && out.back().known();
    }
    if (!real || all_known) return n.SetIntegers(0, std::move(out));
  }
  if (!real) return;
  const auto x = RealValues(n, 0, *dims), y = RealValues(n, 1, *dims);
  if (!x || !y) return;
  std::vector<double> out;
  for (size_t i = 0; i < x->size(); ++i) out.push_back(Op::Of((*x)[i], (*y)[i]));
  n.Out(0).reals = std::move(out);
}

}  // namespace vramplan
