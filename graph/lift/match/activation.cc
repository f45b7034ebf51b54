// Activations that the exporter spells out: gelu, silu, hardswish, mish, softplus, and the single-node ones.
#include <cmath>
#include <limits>

#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

bool Emit(PatternSource& source, const char* op, TensorId input, std::vector<NodeId> nodes,
          Attributes attributes = {}) {
  const NodeId root = nodes.back();
  source.Add({.op = op,
              .inputs = {source.Use(input)},
              .outputs = {source.Out(root)},
              .attributes = std::move(attributes),
              .nodes = std::move(nodes)});
  return true;
}

// The other operand of a Mul or Add whose one side is `known`; invalid when it is not.
TensorId OtherSide(PatternSource& source, NodeId node, TensorId known) {
  if (source.In(node, 0) == known) return source.In(node, 1);
  if (source.In(node, 1) == known) return source.In(node, 0);
  return {};
}

// The tensor that `node` multiplies by (or adds) `number`; invalid otherwise.
TensorId WithNumber(PatternSource& source, NodeId node, double number) {
  if (!node.valid()) return {};
  const auto parts = source.TensorAndNumber(node);
  return parts.has_value() && std::abs(parts->second - number) < 1e-3 ? parts->first : TensorId{};
}

// Add(Erf(x / sqrt 2), 1): gives x.
TensorId ErfTerm(PatternSource& source, TensorId tensor, std::vector<NodeId>& nodes) {
  const NodeId add = source.OnlyMakerOf(tensor, "Add");
  const NodeId erf = source.OnlyMakerOf(WithNumber(source, add, 1), "Erf");
  if (!erf.valid()) return {};
  const TensorId scaled = source.In(erf, 0);
  nodes.insert(nodes.end(), {erf, add});
  if (const NodeId div = source.OnlyMakerOf(scaled, "Div"); div.valid()) {
    nodes.push_back(div);
    return source.IsNumber(source.In(div, 1), std::sqrt(2.0)) ? source.In(div, 0) : TensorId{};
  }
  const NodeId mul = source.OnlyMakerOf(scaled, "Mul");
  nodes.push_back(mul);
  return WithNumber(source, mul, std::sqrt(0.5));
}

// 1 + tanh(sqrt(2/pi) * (x + 0.044715 * (x * (x * x)))): gives x. With Pow instead of the products it is somebody's own
// formula (Hugging Face's NewGELUActivation), which really runs operator by operator.
TensorId TanhTerm(PatternSource& source, TensorId tensor, std::vector<NodeId>& nodes) {
  const NodeId add = source.OnlyMakerOf(tensor, "Add");
  const NodeId tanh = source.OnlyMakerOf(WithNumber(source, add, 1), "Tanh");
  if (!tanh.valid()) return {};
  const NodeId scale = source.OnlyMakerOf(source.In(tanh, 0), "Mul");
  const NodeId sum = source.OnlyMakerOf(WithNumber(source, scale, std::sqrt(2 / M_PI)), "Add");
  if (!sum.valid()) return {};
  for (size_t side = 0; side < 2; ++side) {
    const TensorId x = source.In(sum, side);
    const NodeId cubed = source.OnlyMakerOf(source.In(sum, 1 - side), "Mul");
    const NodeId cube = source.OnlyMakerOf(WithNumber(source, cubed, 0.044715), "Mul");
    if (!cube.valid()) continue;
    const NodeId square = source.OnlyMakerOf(OtherSide(source, cube, x), "Mul");
    if (!square.valid() || source.In(square, 0) != x || source.In(square, 1) != x) continue;
    nodes.insert(nodes.end(), {square, cube, cubed, sum, scale, tanh, add});
    return x;
  }
  return {};
}

// Div, Erf, Add, Mul, Mul  ->  gelu. PyTorch's exporter multiplies by 0.5 last; 0.5 * x * (1 + erf) in a PyTorch file
// was written by hand.
bool MatchGelu(PatternSource& source, NodeId root) {
  for (const bool tanh : {false, true}) {
    const auto term = [&](TensorId tensor, std::vector<NodeId>& nodes) {
      return tanh ? TanhTerm(source, tensor, nodes) : ErfTerm(source, tensor, nodes);
    };
    std::vector<NodeId> nodes;
    const auto accept = [&](TensorId x, NodeId inner) {
      nodes.insert(nodes.end(), {inner, root});
      return Emit(source, "gelu", x, nodes, Named({{"approximate", std::string(tanh ? "tanh" : "none")}}));
    };
    // x * term: onnxsim moves the 0.5 into the weight behind it
    for (size_t side = 0; side < 2; ++side) {
      nodes.clear();
      const TensorId x = term(source.In(root, side), nodes);
      if (!x.valid() || x != source.In(root, 1 - side)) continue;
      nodes.push_back(root);
      return Emit(source, "gelu", x, nodes, Named({{"approximate", std::string(tanh ? "tanh" : "none")}}));
    }
    nodes.clear();
    // 0.5 * (x * term)
    const NodeId product = source.OnlyMakerOf(WithNumber(source, root, 0.5), "Mul");
    for (size_t side = 0; product.valid() && side < 2; ++side) {
      nodes.clear();
      const TensorId x = term(source.In(product, side), nodes);
      if (x.valid() && x == source.In(product, 1 - side)) return accept(x, product);
    }
    if (source.FromPyTorch()) continue;
    for (size_t side = 0; side < 2; ++side) {
      // (0.5 * x) * term
      nodes.clear();
      const NodeId half = source.OnlyMakerOf(source.In(root, 1 - side), "Mul");
      const TensorId halved = WithNumber(source, half, 0.5);
      if (const TensorId x = term(source.In(root, side), nodes); x.valid() && x == halved) return accept(x, half);
      // x * (0.5 * term)
      nodes.clear();
      if (!halved.valid()) continue;
      if (const TensorId x = term(halved, nodes); x.valid() && x == source.In(root, side)) return accept(x, half);
    }
  }
  return false;
}

// ONNX Runtime writes functions as their bodies, without scopes (core/graph/function_utils.cc 1.20).
bool IsInlined(PatternSource& source, TensorId tensor) {
  return source.graph()[tensor].name.rfind("_inlfunc_", 0) == 0;
}

// Mul(x, Sigmoid(x)), Mul(x, HardSigmoid(x)), Mul(x, Tanh(Softplus(x))) in one module
bool MatchSelfGated(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId x = source.In(root, side), gate = source.In(root, 1 - side);
    if (const NodeId sigmoid = source.OnlyMakerOf(gate, "Sigmoid");
        sigmoid.valid() && source.In(sigmoid, 0) == x && source.SameScope(sigmoid, root)) {
      return Emit(source, "silu", x, {sigmoid, root});
    }
    if (const NodeId hard = source.OnlyMakerOf(gate, "HardSigmoid");
        hard.valid() && source.In(hard, 0) == x && (source.SameScope(hard, root) || IsInlined(source, gate))) {
      return Emit(source, "hardswish", x, {hard, root});
    }
    const NodeId tanh = source.OnlyMakerOf(gate, "Tanh");
    const NodeId softplus = tanh.valid() ? source.OnlyMakerOf(source.In(tanh, 0), "Softplus") : NodeId{};
    if (softplus.valid() && source.In(softplus, 0) == x) return Emit(source, "mish", x, {softplus, tanh, root});
  }
  return false;
}

// Clip(x + 3, 0, 6): gives x.
TensorId ClippedShift(PatternSource& source, TensorId tensor, std::vector<NodeId>& nodes) {
  const NodeId clip = source.OnlyMakerOf(tensor, "Clip");
  if (!clip.valid() || !source.IsNumber(source.In(clip, 1), 0) || !source.IsNumber(source.In(clip, 2), 6)) return {};
  const NodeId add = source.OnlyMakerOf(source.In(clip, 0), "Add");
  nodes.insert(nodes.end(), {add, clip});
  return WithNumber(source, add, 3);
}

// x * (Clip(x + 3, 0, 6) / 6), the hardswish of opsets before 14 and of TensorFlow
bool MatchHardswish(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId x = source.In(root, side), gate = source.In(root, 1 - side);
    std::vector<NodeId> nodes;
    TensorId clipped;
    if (const NodeId div = source.OnlyMakerOf(gate, "Div"); div.valid() && source.IsNumber(source.In(div, 1), 6)) {
      clipped = source.In(div, 0);
      nodes.push_back(div);
    } else if (const NodeId mul = source.OnlyMakerOf(gate, "Mul"); mul.valid()) {
      clipped = WithNumber(source, mul, 1.0 / 6);
      nodes.push_back(mul);
    }
    if (!clipped.valid() || ClippedShift(source, clipped, nodes) != x) continue;
    nodes.push_back(root);
    return Emit(source, "hardswish", x, std::move(nodes));
  }
  return false;
}

// (x * Clip(x + 3, 0, 6)) / 6
bool MatchHardswishDividedLast(PatternSource& source, NodeId root) {
  if (!source.IsNumber(source.In(root, 1), 6)) return false;
  const NodeId mul = source.OnlyMakerOf(source.In(root, 0), "Mul");
  for (size_t side = 0; mul.valid() && side < 2; ++side) {
    std::vector<NodeId> nodes;
    const TensorId x = source.In(mul, side);
    if (ClippedShift(source, source.In(mul, 1 - side), nodes) != x) continue;
    nodes.insert(nodes.end(), {mul, root});
    return Emit(source, "hardswish", x, std::move(nodes));
  }
  return false;
}

bool MatchHardsigmoid(PatternSource& source, NodeId root) {
  if (!source.IsNumber(source.In(root, 1), 6)) return false;
  std::vector<NodeId> nodes;
  const TensorId x = ClippedShift(source, source.In(root, 0), nodes);
  if (!x.valid()) return false;
  nodes.push_back(root);
  return Emit(source, "hardsigmoid", x, std::move(nodes));
}

// A stored scalar is a bound whatever its name is ("min_val_cast"): nobody trains one.
std::optional<double> Bound(PatternSource& source, TensorId tensor) {
  if (const auto number = source.Number(tensor)) return number;
  const StoredTensor* stored = tensor.valid() ? source.Stored(tensor) : nullptr;
  if (stored == nullptr || !stored->values.has_value() || stored->values->reals.size() != 1) return std::nullopt;
  return stored->values->reals[0];
}

// nn.ReLU6 and nn.Hardtanh call hardtanh (torch/nn/modules/activation.py 2.10); torch.clamp gives the same node.
bool MatchClip(PatternSource& source, NodeId root) {
  const Attributes& attributes = source[root].attributes;
  const bool old = attributes.Has("min") || attributes.Has("max");
  std::optional<double> low = Bound(source, source.In(root, 1)), high = Bound(source, source.In(root, 2));
  if (old) {
    low = attributes.Real("min", -std::numeric_limits<float>::max());
    high = attributes.Real("max", std::numeric_limits<float>::max());
  }
  const bool hardtanh =
      low.has_value() && high.has_value() && ((*low == 0 && *high == 6) || (*low == -1 && *high == 1));
  if (hardtanh) return Emit(source, "hardtanh", source.In(root, 0), {root});
  Attributes bounds;
  if (low.has_value()) bounds.Set("min", *low);
  if (high.has_value()) bounds.Set("max", *high);
  return Emit(source, "clamp", source.In(root, 0), {root}, std::move(bounds));
}

bool MatchLeakyRelu(PatternSource& source, NodeId root) {
  return Emit(source, "leaky_relu", source.In(root, 0), {root},
              Named({{"negative_slope", source[root].attributes.Real("alpha", 0.01)}}));
}

// PRelu's slope of shape [C] is unsqueezed to [C, 1, 1] by the exporter.
bool MatchPRelu(PatternSource& source, NodeId root) {
  TensorId slope = source.In(root, 1);
  std::vector<NodeId> nodes;
  for (const char* op : {"Unsqueeze", "Reshape"}) {
    const NodeId view = source.MakerOf(slope, op);
    if (!view.valid() || source.Stored(source.In(view, 0)) == nullptr) continue;
    slope = source.In(view, 0);
    nodes.push_back(view);
    break;
  }
  nodes.push_back(root);
  const Shape shape = source.ShapeOf(slope);
  std::optional<Shape> flat;  // one slope per channel, whatever the file made of it
  if (shape.rank() != 1) flat = Shape{shape.Elements()};
  source.Add({.op = "prelu",
              .inputs = {source.Use(source.In(root, 0)), source.Parameter(slope, root, "weight", flat)},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = std::move(nodes)});
  return true;
}

// Nodes that are an activation by themselves.
template <const char* const& op>
bool MatchNode(PatternSource& source, NodeId root) {
  return Emit(source, op, source.In(root, 0), {root});
}
#define ACTIVATION(name) constexpr const char* k_##name = #name;
ACTIVATION(relu)
ACTIVATION(elu)
ACTIVATION(selu)
ACTIVATION(celu)
ACTIVATION(gelu)
ACTIVATION(silu)
ACTIVATION(mish)
ACTIVATION(hardswish)
ACTIVATION(hardsigmoid)
ACTIVATION(sigmoid)
ACTIVATION(tanh)
ACTIVATION(softplus)
ACTIVATION(softsign)
ACTIVATION(threshold)
#undef ACTIVATION

}  // namespace

const PatternRows& ActivationPatterns() {
  static const PatternRows rows = {
      {"Mul", MatchGelu},
      {"Mul", MatchSelfGated},
      {"Mul", MatchHardswish},
      {"Div", MatchHardswishDividedLast},
      {"Div", MatchHardsigmoid},
      {"Clip", MatchClip},
      {"LeakyRelu", MatchLeakyRelu},
      {"PRelu", MatchPRelu},
      {"Relu", MatchNode<k_relu>},
      {"Elu", MatchNode<k_elu>},
      {"Selu", MatchNode<k_selu>},
      {"Celu", MatchNode<k_celu>},
      {"Gelu", MatchNode<k_gelu>},
      {"Swish", MatchNode<k_silu>},
      {"Mish", MatchNode<k_mish>},
      {"HardSwish", MatchNode<k_hardswish>},
      {"HardSigmoid", MatchNode<k_hardsigmoid>},
      {"Sigmoid", MatchNode<k_sigmoid>},
      {"Tanh", MatchNode<k_tanh>},
      {"Softplus", MatchNode<k_softplus>},
      {"Softsign", MatchNode<k_softsign>},
      {"ThresholdedRelu", MatchNode<k_threshold>},
  };
  return rows;
}

}  // namespace vramplan
