// What the dynamo exporter made of operators, in files whose metadata a simplifier dropped; and what onnxsim makes of
// its linears.
#include <algorithm>

#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

std::string FxOperator(PatternSource& source, NodeId node) {
  return FxOperatorOf(source.graph()[source[node].outputs[0]].name);
}

// mean(x, [-1, -2]), then as_strided by a table of indices: adaptive_avg_pool2d to one pixel (torch/_decomp/
// decompositions.py 2.10, adaptive_avg_pool2d; onnxscript 0.7 writes as_strided as a Gather from the flat tensor).
bool MatchDecomposedPool(PatternSource& source, NodeId root) {
  if (!source.FromFx() || FxOperator(source, root) != "as_strided") return false;
  const NodeId flat = source.OnlyMakerOf(source.In(root, 0), "Reshape");
  const NodeId mean = flat.valid() ? source.OnlyMakerOf(source.In(flat, 0), "ReduceMean") : NodeId{};
  if (!mean.valid()) return false;
  const Shape pooled = source.ShapeOf(source[mean].outputs[0]);
  if (pooled != source.ShapeOf(source[root].outputs[0]) || pooled.rank() < 3) return false;
  if (!pooled.FromEnd(1).Is(1) || !pooled.FromEnd(2).Is(1)) return false;
  source.Add({.op = "adaptive_avg_pool2d",
              .inputs = {source.Use(source.In(mean, 0))},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {mean, flat, root}});
  return true;
}

// Where(x > threshold, x, Softplus(x)): onnxscript's softplus.
bool MatchSoftplus(PatternSource& source, NodeId root) {
  const NodeId softplus = source.OnlyMakerOf(source.In(root, 2), "Softplus");
  const NodeId greater = source.OnlyMakerOf(source.In(root, 0), "Greater");
  if (!source.FromFx() || !softplus.valid() || !greater.valid()) return false;
  const TensorId x = source.In(root, 1);
  if (source.In(softplus, 0) != x || source.In(greater, 0) != x) return false;
  source.Add({.op = "softplus",
              .inputs = {source.Use(x)},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = {greater, softplus, root}});
  return true;
}

struct RootMeanSquare {
  TensorId input;
  std::vector<NodeId> nodes;
};

// x * rsqrt(mean(x^2, last axes) + eps), with axes counted from the front: F.rms_norm, which nn.RMSNorm calls, was
// decomposed (ATen/native/layer_norm.cpp 2.10, rms_norm_composite, says input.dim() - 1). Who writes one by hand counts
// from the back: x.pow(2).mean(-1).
std::optional<RootMeanSquare> DividedByRoot(PatternSource& source, NodeId mul) {
  if (!mul.valid()) return std::nullopt;
  const TensorId x = source.In(mul, 0);
  const NodeId inverse = source.OnlyMakerOf(source.In(mul, 1), "Reciprocal");
  const NodeId root = inverse.valid() ? source.OnlyMakerOf(source.In(inverse, 0), "Sqrt") : NodeId{};
  const NodeId add = root.valid() ? source.OnlyMakerOf(source.In(root, 0), "Add") : NodeId{};
  const auto parts = add.valid() ? source.TensorAndNumber(add) : std::nullopt;
  const NodeId mean = parts.has_value() ? source.OnlyMakerOf(parts->first, "ReduceMean") : NodeId{};
  const NodeId square = mean.valid() ? source.OnlyMakerOf(source.In(mean, 0), "Pow") : NodeId{};
  if (!square.valid() || source.In(square, 0) != x || !source.IsNumber(source.In(square, 1), 2)) return std::nullopt;
  auto axes = source.IntegersOf(mean, "axes", 1);
  if (!axes.has_value() || axes->empty()) return std::nullopt;
  std::sort(axes->begin(), axes->end());
  const auto rank = static_cast<int64_t>(source.RankOf(x));
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != rank - static_cast<int64_t>(axes->size() - i)) return std::nullopt;
  }
  return RootMeanSquare{x, {square, mean, add, root, inverse, mul}};
}

bool MatchRmsNorm(PatternSource& source, NodeId root) {
  if (!source.FromFx()) return false;
  const TensorId weight = source.In(root, 1);
  const bool scaled = weight.valid() && source.Stored(weight) != nullptr && source.IsInitializer(weight);
  auto norm = DividedByRoot(source, scaled ? source.OnlyMakerOf(source.In(root, 0), "Mul") : root);
  if (!norm.has_value()) return false;
  if (scaled) norm->nodes.push_back(root);
  source.Add({.op = "rms_norm",
              .inputs = {source.Use(norm->input), scaled ? source.Parameter(weight, root, "weight") : Operand{}},
              .outputs = {source.Out(root)},
              .attributes = {},
              .nodes = std::move(norm->nodes)});
  return true;
}

// onnxsim joins products of one tensor with several weights (queries, keys and values): Split(MatMul(x, weights)).
struct JoinedProducts {
  NodeId matmul;
  TensorId weights;
};
std::optional<JoinedProducts> JoinedBefore(PatternSource& source, NodeId split) {
  if (!split.valid() || !source.FromPyTorch()) return std::nullopt;
  const NodeId matmul = source.OnlyMakerOf(source.In(split, 0), "MatMul");
  if (!matmul.valid() || source[split].name.rfind("Split_", 0) != 0 || source[matmul].name.rfind("MatMul_", 0) != 0)
    return std::nullopt;
  const TensorId weights = source.In(matmul, 1);
  const int rank = source.RankOf(source.In(split, 0));
  const int64_t axis = source[split].attributes.Int("axis", 0);
  if (source.Stored(weights) == nullptr || source.RankOf(weights) != 2 || source.HasModulePath(weights))
    return std::nullopt;
  if (axis != -1 && axis != rank - 1) return std::nullopt;
  return JoinedProducts{matmul, weights};
}

void EmitPart(PatternSource& source, const JoinedProducts& joined, NodeId split, size_t part, TensorId bias,
              NodeId root) {
  const TensorId result = source[split].outputs[part];
  const Shape weight{source.ShapeOf(result).FromEnd(1), source.ShapeOf(joined.weights)[0]};
  const Operand own = source.LostParameter(root, "weight" + std::to_string(part), source.TypeOf(joined.weights), weight,
                                           joined.weights);
  std::vector<NodeId> nodes = {joined.matmul, split};
  if (root != split) nodes.push_back(root);
  source.Add({.op = "linear",
              .inputs = {source.Use(source.In(joined.matmul, 0)), own, source.Parameter(bias, root, "bias")},
              .outputs = {root == split ? source.Out(split, part) : source.Out(root)},
              .attributes = {},
              .nodes = std::move(nodes)});
}

bool MatchPartWithBias(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId bias = source.In(root, side), product = source.In(root, 1 - side);
    const NodeId split = source.OnlyMakerOf(product, "Split");
    const auto joined = JoinedBefore(source, split);
    if (!joined.has_value() || source.Stored(bias) == nullptr || source.RankOf(bias) != 1) continue;
    if (!source.IsInitializer(bias) || source.ShapeOf(bias)[0] != source.ShapeOf(product).FromEnd(1)) continue;
    const std::vector<TensorId>& outputs = source[split].outputs;
    const auto part = static_cast<size_t>(std::find(outputs.begin(), outputs.end(), product) - outputs.begin());
    if (part == outputs.size()) continue;
    EmitPart(source, *joined, split, part, bias, root);
    return true;
  }
  return false;
}

// Whatever parts have no bias behind them.
bool MatchParts(PatternSource& source, NodeId root) {
  const auto joined = JoinedBefore(source, root);
  if (!joined.has_value()) return false;
  for (size_t part = 0; part < source[root].outputs.size(); ++part) {
    const TensorId result = source[root].outputs[part];
    const auto& users = source.UsersOf(result);
    const bool has_bias =
        users.size() == 1 && source[users[0]].op == "Add" &&
        (source.Stored(source.In(users[0], 0)) != nullptr || source.Stored(source.In(users[0], 1)) != nullptr);
    if (result.valid() && !users.empty() && !has_bias) EmitPart(source, *joined, root, part, {}, root);
  }
  return true;
}

}  // namespace

const PatternRows& DynamoPatterns() {
  static const PatternRows rows = {{"Gather", MatchDecomposedPool},
                                   {"Where", MatchSoftplus},
                                   {"Mul", MatchRmsNorm},
                                   {"Add", MatchPartWithBias},
                                   {"Split", MatchParts}};
  return rows;
}

}  // namespace vramplan
