// Reductions over axes: Reduce*, ArgMax, ArgMin.
#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// Axes are an attribute before opset 18 (ReduceSum: 13), an input after; none means all, or nothing with
// noop_with_empty_axes.
std::optional<std::vector<bool>> ReducedAxes(NodeInference& n, int rank) {
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  std::vector<int> axes;
  if (n.AxesGiven(1)) {
    const auto given = n.Axes(1, rank);
    if (!given) return std::nullopt;
    axes = *given;
  }
  if (axes.empty() && n.Int("noop_with_empty_axes", 0) == 0) reduced.assign(reduced.size(), true);
  for (int axis : axes) reduced[static_cast<size_t>(axis)] = true;
  return reduced;
}

Shape Without(const Shape& in, const std::vector<bool>& reduced, bool keep) {
  Shape out;
  for (int i = 0; i < in.rank(); ++i) {
    if (!reduced[static_cast<size_t>(i)]) {
      out.Append(in[i]);
    } else if (keep) {
      out.Append(1);
    }
  }
  return out;
}

using Combine = Dim (*)(Dim, Dim);

template <Combine combine = nullptr>
void Reduce(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  const bool keep = n.Int("keepdims", 1) != 0;
  const auto reduced = ReducedAxes(n, in.rank());
  if (!reduced) {  // which axes go is not known
    if (keep) n.SetShape(0, std::vector<Dim>(static_cast<size_t>(in.rank()), Dim::Unknown()));
    return;
  }
  n.SetShape(0, Without(in, *reduced, keep));
  if (combine == nullptr) return;
  for (bool r : *reduced) {
    if (!r) return;  // contents only of full reductions
  }
  std::optional<std::vector<Dim>> values;
  if (n.Integers(0)) {
    values = *n.Integers(0);
  } else if (const auto dims = FoldableDims(in)) {
    values = WholeValues(n, 0, *dims);  // lengths as floating numbers, as torchvision's detectors have them
  }
  if (!values || values->empty()) return;
  Dim value = values->front();
  for (size_t i = 1; i < values->size(); ++i) value = combine(value, (*values)[i]);
  n.SetIntegers(0, {value});
}

Dim Sum(Dim a, Dim b) { return a + b; }
Dim Product(Dim a, Dim b) { return a * b; }

void ArgReduce(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& in = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", 0), in.rank());
  if (!axis) return;
  std::vector<bool> reduced(static_cast<size_t>(in.rank()), false);
  reduced[static_cast<size_t>(*axis)] = true;
  n.SetShape(0, Without(in, reduced, n.Int("keepdims", 1) != 0));
}

constexpr RuleRow kReductionRows[] = {
    {"ReduceL1", Reduce<>},
    {"ReduceL2", Reduce<>},
    {"ReduceLogSum", Reduce<>},
    {"ReduceLogSumExp", Reduce<>},
    {"ReduceMax", Reduce<Maximum>},
    {"ReduceMean", Reduce<>},
    {"ReduceMin", Reduce<Minimum>},
    {"ReduceProd", Reduce<Product>},
    {"ReduceSum", Reduce<Sum>},
    {"ReduceSumSquare", Reduce<>},
    {"ArgMax", ArgReduce, Type::kInt64},
    {"ArgMin", ArgReduce, Type::kInt64},
};

}  // namespace

constinit const std::span<const RuleRow> kReductionRules(kReductionRows);

}  // namespace vramplan
