// Normalisations: batch, instance, group, layer (as one node, or spelled out in opsets before 17), and 1/sqrt.
#include <algorithm>
#include <functional>

#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

// A scale or shift of ones and zeros that the exporter had to write for a norm without parameters.
bool IsFiller(PatternSource& source, TensorId tensor) {
  if (!tensor.valid() || source.Stored(tensor) == nullptr) return false;
  return !source.IsInitializer(tensor) || (source.FromPyTorch() && !source.HasModulePath(tensor));
}
Operand Affine(PatternSource& source, TensorId tensor, NodeId user, const char* leaf) {
  return IsFiller(source, tensor) ? Operand{} : source.Parameter(tensor, user, leaf);
}

// One number over and over: the ones and zeros of a norm that has no scale and shift of its own.
bool IsUniform(PatternSource& source, TensorId tensor) {
  const StoredTensor* stored = tensor.valid() ? source.Stored(tensor) : nullptr;
  if (stored == nullptr || !stored->values.has_value()) return false;
  const std::vector<double>& reals = stored->values->reals;
  return std::adjacent_find(reals.begin(), reals.end(), std::not_equal_to<>()) == reals.end();
}

// A stored vector that is multiplied or added, perhaps behind a view: Unsqueeze(weight). Invalid for others.
TensorId StoredBehindView(PatternSource& source, TensorId tensor, std::vector<NodeId>& nodes) {
  for (const char* op : {"Unsqueeze", "Reshape"}) {
    const NodeId view = source.MakerOf(tensor, op);
    if (!view.valid()) continue;
    if (source.Stored(source.In(view, 0)) == nullptr) return {};
    nodes.push_back(view);
    return source.In(view, 0);
  }
  return source.Stored(tensor) != nullptr && source.IsInitializer(tensor) ? tensor : TensorId{};
}

bool MatchBatchNorm(PatternSource& source, NodeId root) {
  // In training the node has further outputs: opset 14 says training_mode, older ones give five outputs.
  const Node& node = source[root];
  const bool training = node.attributes.Int("training_mode", node.outputs.size() > 3 ? 1 : 0) != 0;
  source.Add({.op = "batch_norm",
              .inputs = {source.Use(source.In(root, 0)), Affine(source, source.In(root, 1), root, "weight"),
                         Affine(source, source.In(root, 2), root, "bias"),
                         source.Buffer(source.In(root, 3), root, "running_mean"),
                         source.Buffer(source.In(root, 4), root, "running_var")},
              .outputs = {source.Out(root)},
              .attributes = Named({{"training", static_cast<int64_t>(training)}}),
              .nodes = {root}});
  return true;
}

bool MatchInstanceNorm(PatternSource& source, NodeId root) {
  source.Add({.op = "instance_norm",
              .inputs = {source.Use(source.In(root, 0)), Affine(source, source.In(root, 1), root, "weight"),
                         Affine(source, source.In(root, 2), root, "bias")},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {root}});
  return true;
}

// Reshape([0, groups, -1]), InstanceNormalization(ones, zeros), Reshape back: gives the group norm's input.
struct Groups {
  TensorId input;
  int64_t count = 0;
  std::vector<NodeId> nodes;
};
std::optional<Groups> GroupsOf(PatternSource& source, NodeId reshape_back) {
  if (!reshape_back.valid()) return std::nullopt;
  const NodeId norm = source.OnlyMakerOf(source.In(reshape_back, 0), "InstanceNormalization");
  if (!norm.valid()) return std::nullopt;
  if (!IsFiller(source, source.In(norm, 1)) && !IsUniform(source, source.In(norm, 1))) return std::nullopt;
  const NodeId reshape = source.OnlyMakerOf(source.In(norm, 0), "Reshape");
  if (!reshape.valid()) return std::nullopt;
  const Shape grouped = source.ShapeOf(source.In(norm, 0));
  if (grouped.rank() != 3 || !grouped[1].IsConstant()) return std::nullopt;
  return Groups{source.In(reshape, 0), grouped[1].c0(), {reshape, norm, reshape_back}};
}

bool EmitGroupNorm(PatternSource& source, Groups groups, TensorId weight, TensorId bias, NodeId root) {
  const auto flat = [&](TensorId tensor) -> std::optional<Shape> {
    const Shape shape = source.ShapeOf(tensor);
    if (!tensor.valid() || shape.rank() == 1) return std::nullopt;
    return Shape{shape.Elements()};
  };
  source.Add({.op = "group_norm",
              .inputs = {source.Use(groups.input), source.Parameter(weight, root, "weight", flat(weight)),
                         source.Parameter(bias, root, "bias", flat(bias))},
              .outputs = {source.Out(root)},
              .attributes = Named({{"num_groups", groups.count}}),
              .nodes = std::move(groups.nodes)});
  return true;
}

// ... Mul(Unsqueeze(weight)), Add(Unsqueeze(bias))
bool MatchGroupNorm(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const NodeId mul = source.OnlyMakerOf(source.In(root, side), "Mul");
    for (size_t inner = 0; mul.valid() && inner < 2; ++inner) {
      auto groups = GroupsOf(source, source.OnlyMakerOf(source.In(mul, inner), "Reshape"));
      if (!groups.has_value()) continue;
      const TensorId weight = StoredBehindView(source, source.In(mul, 1 - inner), groups->nodes);
      const TensorId bias = StoredBehindView(source, source.In(root, 1 - side), groups->nodes);
      if (!weight.valid() || !bias.valid()) return false;
      groups->nodes.insert(groups->nodes.end(), {mul, root});
      return EmitGroupNorm(source, std::move(*groups), weight, bias, root);
    }
  }
  return false;
}
bool MatchPlainGroupNorm(PatternSource& source, NodeId root) {
  auto groups = GroupsOf(source, root);
  return groups.has_value() && EmitGroupNorm(source, std::move(*groups), {}, {}, root);
}

bool MatchLayerNorm(PatternSource& source, NodeId root) {
  const int64_t axis = source[root].attributes.Int("axis", -1);
  source.Add({.op = "layer_norm",
              .inputs = {source.Use(source.In(root, 0)), Affine(source, source.In(root, 1), root, "weight"),
                         Affine(source, source.In(root, 2), root, "bias")},
              .outputs = {source.Out(root)},
              .attributes = Named({{"normalized_axes", axis < 0 ? -axis : source.RankOf(source.In(root, 0)) - axis}}),
              .nodes = {root}});
  return true;
}

bool MatchRmsNormNode(PatternSource& source, NodeId root) {
  // ONNX Runtime's name for a norm that was written out: opset 23 has RMSNormalization.
  if (source.FromPyTorch() && source[root].op == "SimplifiedLayerNormalization" &&
      source.RankOf(source.In(root, 0)) > 0) {
    FusedParts(source, root)
        .PutRmsNorm(source.Use(source.In(root, 0)), source.ShapeOf(source.In(root, 0)), source.In(root, 1),
                    source.Out(root));
    return true;
  }
  source.Add({.op = "rms_norm",
              .inputs = {source.Use(source.In(root, 0)), Affine(source, source.In(root, 1), root, "weight")},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {root}});
  return true;
}

bool MatchGroupNormNode(PatternSource& source, NodeId root) {
  return EmitGroupNorm(source, {source.In(root, 0), source[root].attributes.Int("num_groups", 1), {root}},
                       source.In(root, 1), source.In(root, 2), root);
}

// ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div: what layer_norm becomes before opset 17
// (symbolic_opset9.py 2.10, _layer_norm). Starts at the Div. From opset 17 on PyTorch writes LayerNormalization
// (symbolic_opset17.py): this is then the arithmetic of somebody's own module, as any norm of axes that are not the
// last ones (ConvNeXt's LayerNorm of channels_first) is.
std::optional<std::pair<TensorId, int64_t>> Centered(PatternSource& source, NodeId div, std::vector<NodeId>& nodes) {
  const bool own = source.graph().producer.starts_with("pytorch") && source.graph().opset() >= 17;
  if (!div.valid() || own) return std::nullopt;
  const NodeId sqrt = source.OnlyMakerOf(source.In(div, 1), "Sqrt");
  const NodeId add = sqrt.valid() ? source.OnlyMakerOf(source.In(sqrt, 0), "Add") : NodeId{};
  const auto parts = add.valid() ? source.TensorAndNumber(add) : std::nullopt;
  const NodeId variance = parts.has_value() ? source.OnlyMakerOf(parts->first, "ReduceMean") : NodeId{};
  if (!variance.valid()) return std::nullopt;
  NodeId square = source.OnlyMakerOf(source.In(variance, 0), "Pow");
  if (!square.valid()) square = source.OnlyMakerOf(source.In(variance, 0), "Mul");
  const NodeId sub = source.MakerOf(source.In(div, 0), "Sub");
  if (!square.valid() || !sub.valid() || source.In(square, 0) != source.In(div, 0)) return std::nullopt;
  const NodeId mean = source.OnlyMakerOf(source.In(sub, 1), "ReduceMean");
  if (!mean.valid() || source.In(mean, 0) != source.In(sub, 0)) return std::nullopt;
  const auto axes = source.IntegersOf(mean, "axes", 1);
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  const int64_t rank = source.RankOf(source.In(sub, 0)), first = rank - static_cast<int64_t>(axes->size());
  if (std::any_of(axes->begin(), axes->end(), [&](int64_t a) { return (a < 0 ? a + rank : a) < first; }))
    return std::nullopt;
  nodes.insert(nodes.end(), {mean, sub, square, variance, add, sqrt, div});
  return std::make_pair(source.In(sub, 0), static_cast<int64_t>(axes->size()));
}

bool EmitLayerNorm(PatternSource& source, std::pair<TensorId, int64_t> centered, TensorId weight, TensorId bias,
                   std::vector<NodeId> nodes) {
  const NodeId root = nodes.back();
  source.Add({.op = "layer_norm",
              .inputs = {source.Use(centered.first), source.Parameter(weight, root, "weight"),
                         source.Parameter(bias, root, "bias")},
              .outputs = {source.Out(root)},
              .attributes = Named({{"normalized_axes", centered.second}}),
              .nodes = std::move(nodes)});
  return true;
}

bool MatchLongLayerNorm(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const NodeId mul = source.OnlyMakerOf(source.In(root, side), "Mul");
    const TensorId bias = source.In(root, 1 - side);
    if (!mul.valid() || source.Stored(bias) == nullptr) continue;
    for (size_t inner = 0; inner < 2; ++inner) {
      const TensorId weight = source.In(mul, 1 - inner);
      std::vector<NodeId> nodes;
      const auto centered = Centered(source, source.OnlyMakerOf(source.In(mul, inner), "Div"), nodes);
      if (!centered.has_value() || source.Stored(weight) == nullptr) continue;
      nodes.insert(nodes.end(), {mul, root});
      return EmitLayerNorm(source, *centered, weight, bias, std::move(nodes));
    }
  }
  return false;
}
bool MatchLongPlainLayerNorm(PatternSource& source, NodeId root) {
  std::vector<NodeId> nodes;
  const auto centered = Centered(source, root, nodes);
  return centered.has_value() && EmitLayerNorm(source, *centered, {}, {}, std::move(nodes));
}

// The input of a mean over trailing axes, as ReduceMean or as tf2onnx's GlobalAveragePool; invalid for others.
TensorId AveragedBy(PatternSource& source, TensorId mean, NodeId* node) {
  *node = source.MakerOf(mean, "ReduceMean");
  if (!node->valid()) *node = source.MakerOf(mean, "GlobalAveragePool");
  return node->valid() ? source.In(*node, 0) : TensorId{};
}

// Keras' LayerNormalization, as tf2onnx leaves tf.nn.batch_normalization:
//   x * m + (beta - mean * m),  m = gamma / sqrt(mean((x - mean)^2) + eps)
bool MatchKerasLayerNorm(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const NodeId scaled = source.OnlyMakerOf(source.In(root, side), "Mul");
    const NodeId shift = source.OnlyMakerOf(source.In(root, 1 - side), "Sub");
    const NodeId moved = shift.valid() ? source.OnlyMakerOf(source.In(shift, 1), "Mul") : NodeId{};
    if (!scaled.valid() || !moved.valid()) continue;
    const TensorId beta = source.In(shift, 0);
    for (size_t inner = 0; inner < 4; ++inner) {
      const TensorId x = source.In(scaled, inner % 2), m = source.In(scaled, 1 - inner % 2);
      const TensorId mean = source.In(moved, inner / 2);
      NodeId mean_node, variance_node;
      if (source.In(moved, 1 - inner / 2) != m || AveragedBy(source, mean, &mean_node) != x) continue;
      const NodeId gain = source.MakerOf(m, "Mul");
      if (!gain.valid()) continue;
      const size_t stored = source.Stored(source.In(gain, 0)) != nullptr ? 0 : 1;
      const TensorId gamma = source.In(gain, stored);
      const NodeId inverse = source.OnlyMakerOf(source.In(gain, 1 - stored), "Reciprocal");
      const NodeId sqrt = inverse.valid() ? source.OnlyMakerOf(source.In(inverse, 0), "Sqrt") : NodeId{};
      const NodeId add = sqrt.valid() ? source.OnlyMakerOf(source.In(sqrt, 0), "Add") : NodeId{};
      const auto parts = add.valid() ? source.TensorAndNumber(add) : std::nullopt;
      if (!parts.has_value() || source.Stored(gamma) == nullptr || source.Stored(beta) == nullptr) continue;
      const NodeId square = source.MakerOf(AveragedBy(source, parts->first, &variance_node), "Mul");
      const NodeId sub = square.valid() ? source.MakerOf(source.In(square, 0), "Sub") : NodeId{};
      if (!sub.valid() || source.In(sub, 0) != x || source.In(sub, 1) != mean) continue;
      return EmitLayerNorm(
          source, {x, int64_t{1}}, gamma, beta,
          {mean_node, sub, square, variance_node, add, sqrt, inverse, gain, scaled, moved, shift, root});
    }
  }
  return false;
}

// The same by a batch norm over [1, rows, C, 1], whose mean and variance are computed (keras' fused form):
//   Reshape, BatchNormalization(ones, zeros, mean, variance), Reshape, Mul(gamma), Add(beta)
bool MatchKerasFusedLayerNorm(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const NodeId mul = source.OnlyMakerOf(source.In(root, side), "Mul");
    const TensorId beta = source.In(root, 1 - side);
    for (size_t inner = 0; mul.valid() && inner < 2; ++inner) {
      const TensorId gamma = source.In(mul, 1 - inner);
      const NodeId back = source.OnlyMakerOf(source.In(mul, inner), "Reshape");
      const NodeId norm = back.valid() ? source.OnlyMakerOf(source.In(back, 0), "BatchNormalization") : NodeId{};
      const NodeId rows = norm.valid() ? source.MakerOf(source.In(norm, 0), "Reshape") : NodeId{};
      if (!rows.valid() || source.Stored(source.In(norm, 3)) != nullptr || source.IsHostMade(source.In(norm, 3)))
        continue;
      const TensorId x = source.In(rows, 0);
      if (source.Stored(gamma) == nullptr || source.Stored(beta) == nullptr || source.RankOf(gamma) != 1) continue;
      if (source.RankOf(x) < 1 || source.ShapeOf(x) != source.ShapeOf(source[root].outputs[0])) continue;
      if (source.ShapeOf(x).FromEnd(1) != source.ShapeOf(gamma)[0]) continue;
      return EmitLayerNorm(source, {x, int64_t{1}}, gamma, beta, {rows, norm, back, mul, root});
    }
  }
  return false;
}

// Div(1, Sqrt(x)), Reciprocal(Sqrt(x))  ->  rsqrt(x), the heart of every hand-written RMS norm. nn.RMSNorm ends in the
// same nodes and is lifted as its parts.
bool EmitRsqrt(PatternSource& source, NodeId root, NodeId sqrt) {
  if (!sqrt.valid()) return false;
  source.Add({.op = "rsqrt",
              .inputs = {source.Use(source.In(sqrt, 0))},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {sqrt, root}});
  return true;
}
bool MatchRsqrt(PatternSource& source, NodeId root) {
  return source.IsNumber(source.In(root, 0), 1) &&
         EmitRsqrt(source, root, source.OnlyMakerOf(source.In(root, 1), "Sqrt"));
}
bool MatchReciprocalSqrt(PatternSource& source, NodeId root) {
  return EmitRsqrt(source, root, source.OnlyMakerOf(source.In(root, 0), "Sqrt"));
}

// v / |v| * g: torch._weight_norm, one fused call where the norm runs over all axes but the first or the last
// (ATen/native/WeightNorm.cpp, PyTorch 2.10).
bool MatchWeightNorm(PatternSource& source, NodeId root) {
  const NodeId div = source.OnlyMakerOf(source.In(root, 0), "Div");
  const TensorId magnitude = source.In(root, 1);
  if (!div.valid() || !magnitude.valid() || !source.IsInitializer(magnitude)) return false;
  const TensorId direction = source.In(div, 0);
  const NodeId norm = source.OnlyMakerOf(source.In(div, 1), "ReduceL2");
  if (!norm.valid() || !source.IsInitializer(direction) || source.In(norm, 0) != direction) return false;
  const auto axes = source.IntegersOf(norm, "axes", 1);
  const int rank = source.RankOf(direction);
  if (!axes.has_value() || rank < 2 || static_cast<int>(axes->size()) != rank - 1) return false;
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (const int64_t axis : *axes) reduced.at(static_cast<size_t>(axis < 0 ? axis + rank : axis)) = true;
  if (reduced.front() && reduced.back()) return false;
  // The hook of nn.utils.weight_norm binds the weight to its module, a parametrization does not.
  const bool bound = source.graph()[direction].name.ends_with("weight_v");
  source.Add({.op = "weight_norm",
              .inputs = {source.Parameter(direction, root, "weight_v"), source.Parameter(magnitude, root, "weight_g")},
              .outputs = {source.Out(root)},
              .attributes = bound ? Named({{"bound", int64_t{1}}}) : Attributes(),
              .nodes = {norm, div, root}});
  return true;
}

}  // namespace

const PatternRows& NormPatterns() {
  static const PatternRows rows = {
      {"Mul", MatchWeightNorm},
      {"Add", MatchGroupNorm},
      {"Reshape", MatchPlainGroupNorm},
      {"Add", MatchLongLayerNorm},
      {"Div", MatchLongPlainLayerNorm},
      {"Add", MatchKerasLayerNorm},
      {"Add", MatchKerasFusedLayerNorm},
      {"Div", MatchRsqrt},
      {"Reciprocal", MatchReciprocalSqrt},
      {"BatchNormalization", MatchBatchNorm},
      {"InstanceNormalization", MatchInstanceNorm},
      {"GroupNormalization", MatchGroupNormNode},
      {"LayerNormalization", MatchLayerNorm},
      {"RMSNormalization", MatchRmsNormNode},
      {"SimplifiedLayerNormalization", MatchRmsNormNode},
  };
  return rows;
}

}  // namespace vramplan
