// Normalisations: batch, instance, group, layer (as one node, or spelled out in opsets before 17), and 1/sqrt.
#include <algorithm>

#include "graph/habits/reparametrizations.h"
#include "graph/lift/match/source.h"

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

bool MatchBatchNorm(PatternSource& source, NodeId root) {
  // In training the node has further outputs: opset 14 says training_mode, older ones give five outputs.
  const Node& node = source[root];
  const bool training = node.attributes.Int("training_mode", node.outputs.size() > 3 ? 1 : 0) != 0;
  return source.Emit(
      "batch_norm",
      {source.Input(root, 0), Affine(source, source.In(root, 1), root, "weight"),
       Affine(source, source.In(root, 2), root, "bias"), source.Buffer(source.In(root, 3), root, "running_mean"),
       source.Buffer(source.In(root, 4), root, "running_var")},
      {root}, Named({{"training", static_cast<int64_t>(training)}}));
}

bool MatchInstanceNorm(PatternSource& source, NodeId root) {
  return source.Emit("instance_norm",
                     {source.Input(root, 0), Affine(source, source.In(root, 1), root, "weight"),
                      Affine(source, source.In(root, 2), root, "bias")},
                     {root});
}

bool EmitGroupNorm(PatternSource& source, TensorId input, int64_t groups, TensorId weight, TensorId bias,
                   std::vector<NodeId> nodes) {
  const NodeId root = nodes.back();
  const auto parameter = [&](TensorId tensor, const char* leaf) {
    const Shape shape = source.ShapeOf(tensor);
    const bool flat = !tensor.valid() || shape.rank() == 1;
    return source.Parameter(tensor, root, leaf, flat ? std::nullopt : std::optional(Shape{shape.Elements()}));
  };
  return source.Emit("group_norm", {source.Use(input), parameter(weight, "weight"), parameter(bias, "bias")},
                     std::move(nodes), Named({{"num_groups", groups}}));
}

// An instance norm of the groups, without scale and shift of its own, and the module's behind it where it has some.
bool MatchGroupNorm(PatternSource& source, NodeId root) {
  static const std::string kGroups = "Reshape(InstanceNormalization(grouped=Reshape(x), ones))";
  static const Form plain(kGroups),
      scaled("Add(Mul(" + kGroups + ", (&Unsqueeze|Reshape(weight) | weight)), (&Unsqueeze|Reshape(bias) | bias))");
  const bool affine = source[root].op == "Add";
  return MatchesForm(source, root, affine ? scaled : plain, [&](const NodesMatch& found) {
    const Shape grouped = source.ShapeOf(found["grouped"]);
    if (!IsFiller(source, found["ones"])) return false;
    if (grouped.rank() != 3 || !grouped[1].IsConstant() || (affine && !found.AreStored({"weight", "bias"})))
      return false;
    return EmitGroupNorm(source, found["x"], grouped[1].c0(), found["weight"], found["bias"], found.Nodes());
  });
}

bool MatchLayerNorm(PatternSource& source, NodeId root) {
  const int64_t axis = source[root].attributes.Int("axis", -1);
  return source.Emit("layer_norm",
                     {source.Input(root, 0), Affine(source, source.In(root, 1), root, "weight"),
                      Affine(source, source.In(root, 2), root, "bias")},
                     {root}, Named({{"normalized_axes", axis < 0 ? -axis : source.RankOf(source.In(root, 0)) - axis}}));
}

bool MatchRmsNormNode(PatternSource& source, NodeId root) {
  return source.Emit("rms_norm", {source.Input(root, 0), Affine(source, source.In(root, 1), root, "weight")}, {root});
}

bool MatchGroupNormNode(PatternSource& source, NodeId root) {
  return EmitGroupNorm(source, source.In(root, 0), source[root].attributes.Int("num_groups", 1), source.In(root, 1),
                       source.In(root, 2), {root});
}

// From opset 17 on PyTorch writes LayerNormalization (symbolic_opset17.py): the long form is then the arithmetic of
// somebody's own module, as any norm of axes that are not the last ones (ConvNeXt's LayerNorm of channels_first) is.
bool IsCentered(const NodesMatch& found, Draft* draft) {
  const PatternSource& source = found.source;
  if (source.graph().producer.starts_with("pytorch") && source.graph().opset() >= 17) return false;
  const auto axes = source.IntegersOf(found.MakerOf("mean"), "axes", 1);
  if (!axes.has_value() || axes->empty()) return false;
  const int64_t rank = source.RankOf(found["x"]), count = static_cast<int64_t>(axes->size());
  draft->attributes.Set("normalized_axes", count);
  return std::all_of(axes->begin(), axes->end(), [&](int64_t axis) { return FromFront(axis, rank) >= rank - count; });
}
bool IsScaledAndCentered(const NodesMatch& found, Draft* draft) {
  return found.source.Stored(found["weight"]) != nullptr && found.source.Stored(found["bias"]) != nullptr &&
         IsCentered(found, draft);
}

bool IsOfLastAxis(const NodesMatch& found, Draft* draft) {
  draft->attributes.Set("normalized_axes", int64_t{1});
  return found.source.Stored(found["weight"]) != nullptr && found.source.Stored(found["bias"]) != nullptr;
}

// Keras' fused form: a batch norm over [1, rows, C, 1], whose mean and variance are computed.
bool IsFusedByKeras(const NodesMatch& found, Draft* draft) {
  const PatternSource& source = found.source;
  const Shape x = source.ShapeOf(found["x"]), weight = source.ShapeOf(found["weight"]);
  const TensorId mean = source.In(found.MakerOf("norm"), 3);
  return source.Stored(mean) == nullptr && !source.IsHostMade(mean) && IsOfLastAxis(found, draft) &&
         weight.rank() == 1 && x.rank() >= 1 && x == source.ShapeOf(source[found.root()].outputs[0]) &&
         x.FromEnd(1) == weight[0];
}

// v / |v| * g: torch._weight_norm, one fused call where the norm runs over all axes but the first or the last
// (ATen/native/WeightNorm.cpp, PyTorch 2.10).
bool IsWeightNorm(const NodesMatch& found, Draft* draft) {
  const PatternSource& source = found.source;
  if (!source.IsInitializer(found["v"]) || !source.IsInitializer(found["g"])) return false;
  const auto axes = source.IntegersOf(found.MakerOf("norm"), "axes", 1);
  const int rank = source.RankOf(found["v"]);
  if (!axes.has_value() || rank < 2 || static_cast<int>(axes->size()) != rank - 1) return false;
  std::vector<bool> reduced(static_cast<size_t>(rank), false);
  for (const int64_t axis : *axes) reduced.at(static_cast<size_t>(FromFront(axis, rank))) = true;
  if (IsBoundWeightNorm(source.NameOf(found["v"]), source.NameOf(found["g"])))
    draft->attributes.Set("bound", int64_t{1});
  return !reduced.front() || !reduced.back();
}

}  // namespace

const PatternRows& NormPatterns() {
  // ReduceMean, Sub, Pow, ReduceMean, Add, Sqrt, Div: what layer_norm becomes before opset 17 (symbolic_opset9.py 2.10,
  // _layer_norm).
  const std::string centered = "Div(d=&Sub(x, mean=ReduceMean(x)), Sqrt(Add(ReduceMean((Pow(d) | Mul(d))), #)))";
  // Keras' LayerNormalization, as tf2onnx leaves tf.nn.batch_normalization:
  //   x * m + (beta - mean * m),  m = gamma / sqrt(mean((x - mean)^2) + eps)
  const std::string gain =
      "m=&Mul(Reciprocal(Sqrt(Add(&ReduceMean|GlobalAveragePool(&Mul(&Sub(x, "
      "mean=&ReduceMean|GlobalAveragePool(x)))), #))), weight)";
  static const PatternRows rows = {
      Becomes("Mul(Div(v, norm=ReduceL2(v)), g)", "weight_norm(%v, %g)", IsWeightNorm),
      {"Add|Reshape", MatchGroupNorm},
      Becomes("Add(Mul(" + centered + ", weight), bias)", "layer_norm(x, %weight, %bias)", IsScaledAndCentered),
      Becomes(centered, "layer_norm(x)", IsCentered),
      Becomes("Add(Mul(x, " + gain + "), Sub(bias, Mul(mean, m)))", "layer_norm(x, %weight, %bias)", IsOfLastAxis),
      Becomes("Add(Mul(Reshape(norm=BatchNormalization(&Reshape(x))), weight), bias)", "layer_norm(x, %weight, %bias)",
              IsFusedByKeras),
      // The heart of every hand-written RMS norm. nn.RMSNorm ends in the same nodes and is lifted as its parts.
      Becomes("Div(1, Sqrt(x))", "rsqrt(x)"),
      Becomes("Reciprocal(Sqrt(x))", "rsqrt(x)"),
      {"BatchNormalization", MatchBatchNorm},
      {"InstanceNormalization", MatchInstanceNorm},
      {"GroupNormalization", MatchGroupNormNode},
      {"LayerNormalization", MatchLayerNorm},
      {"RMSNormalization|SimplifiedLayerNormalization", MatchRmsNormNode},
  };
  return rows;
}

}  // namespace vramplan
