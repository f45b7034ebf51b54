#include "graph/shapes/folding.h"

#include <cmath>

namespace vramplan {
namespace {

// Doubles hold whole numbers exactly below 2^53.
std::optional<Dim> Whole(double value) {
  if (!(std::fabs(value) < 9007199254740992.0) || value != std::floor(value)) return std::nullopt;
  return Dim(static_cast<int64_t>(value));
}

template <typename T>
std::optional<std::vector<T>> Spread(const NodeInference& n, int input, const std::vector<T>& values,
                                     const std::vector<int64_t>& dims) {
  const auto own = FoldableDims(*n.ShapeOf(input));
  if (!own) return std::nullopt;
  if (*own == dims) return values;
  return Strided(values, dims, 0, BroadcastStrides(*own, dims));
}

}  // namespace

std::optional<std::vector<int64_t>> FoldableDims(const Shape& shape) {
  std::vector<int64_t> dims;
  int64_t count = 1;
  for (const Dim& d : shape) {
    if (!d.IsConstant() || d.c0() < 0 || d.c0() > kMaxFolded) return std::nullopt;
    dims.push_back(d.c0());
    count *= d.c0();
    if (count > kMaxFolded) return std::nullopt;
  }
  return dims;
}

std::vector<int64_t> Strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

std::vector<int64_t> BroadcastStrides(const std::vector<int64_t>& dims, const std::vector<int64_t>& wide) {
  std::vector<int64_t> strides(wide.size(), 0);
  const std::vector<int64_t> own = Strides(dims);
  const size_t offset = wide.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i) strides[offset + i] = dims[i] == 1 ? 0 : own[i];
  return strides;
}

std::optional<std::vector<Dim>> WholeValues(const NodeInference& n, int input, const std::vector<int64_t>& dims) {
  const TensorFacts& facts = n.In(input);
  if (facts.integers) return Spread(n, input, *facts.integers, dims);
  if (!facts.reals) return std::nullopt;
  std::vector<Dim> whole;
  for (double value : *facts.reals) {
    const auto dim = Whole(value);
    if (!dim) return std::nullopt;
    whole.push_back(*dim);
  }
  return Spread(n, input, whole, dims);
}

Dim ScalarOf(const NodeInference& n, int input) {
  const auto& shape = n.ShapeOf(input);
  if (!shape || shape->rank() > 1 || !shape->Elements().Is(1)) return Dim::Unknown();
  const auto values = WholeValues(n, input, {1});
  return values ? values->front() : Dim::Unknown();
}

std::optional<std::vector<double>> RealValues(const NodeInference& n, int input, const std::vector<int64_t>& dims) {
  const auto values = n.Reals(input);
  return values ? Spread(n, input, *values, dims) : std::nullopt;
}

}  // namespace vramplan
