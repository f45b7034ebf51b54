// Normalizations: the first output looks like the input; the others are statistics.
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// Y and, in training mode, running mean and variance [C] (onnx BatchNormalization-15; before 14: mean, var, saved mean,
// saved var).
void BatchNormalization(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  n.SetShape(0, x);
  const Dim channels = x.rank() > 1 ? x[1] : Dim(1);
  for (int i = 1; i < 5; ++i) {
    if (!n.Has(i) || !n.ShapeOf(i)) continue;
    if (n.ShapeOf(i)->rank() != 1 || !n.Same(channels, (*n.ShapeOf(i))[0])) {
      return n.Fail(n.Describe(i) + " does not fit the channels of " + n.Describe(0));
    }
  }
  for (int i = 1; i < n.outputs(); ++i) {
    if (n.In(3).type != DType::kUndefined) n.Out(i).type = n.In(3).type;
    n.SetShape(i, Shape{channels});
  }
}

}  // namespace

// Y, and mean and inverse deviation with the normalized axes of length 1, of the stash type (onnx
// LayerNormalization-17).
void LayerNormalization(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& x = *n.ShapeOf(0);
  const auto axis = n.Axis(n.Int("axis", -1), x.rank());
  if (!axis) return;
  Shape statistics = x;
  for (int i = *axis; i < x.rank(); ++i) statistics[i] = 1;
  n.SetShape(0, x);
  for (int i = 1; i < n.outputs(); ++i) {
    n.Out(i).type = DTypeFromOnnx(static_cast<int32_t>(n.Int("stash_type", 1))).value_or(DType::kFloat32);
    n.SetShape(i, statistics);
  }
}

namespace {

constexpr RuleRow kNormalizationRows[] = {
    {"BatchNormalization", BatchNormalization},
    {"LayerNormalization", LayerNormalization},
    {"GroupNormalization", SameShape},
    {"InstanceNormalization", SameShape},
    {"LRN", SameShape},
    {"LpNormalization", SameShape},
    {"MeanVarianceNormalization", SameShape},
    {"RMSNormalization", SameShape},
    {"SimplifiedLayerNormalization", LayerNormalization},  // ONNX Runtime's RMS norm, in the standard domain
};

}  // namespace

constinit const std::span<const RuleRow> kNormalizationRules(kNormalizationRows);

}  // namespace vramplan
