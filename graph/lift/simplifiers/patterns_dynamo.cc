// What the dynamo exporter made of operators, in files whose metadata a simplifier dropped; and what onnxsim makes of
// its linears.
#include <algorithm>

#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

std::string FxOperator(PatternSource& source, NodeId node) {
  return FxOperatorOf(source.NameOf(source[node].outputs[0]));
}

// mean(x, [-1, -2]), then as_strided by a table of indices: adaptive_avg_pool2d to one pixel (torch/_decomp/
// decompositions.py 2.10, adaptive_avg_pool2d; onnxscript 0.7 writes as_strided as a Gather from the flat tensor).
bool IsPoolToOnePixel(const NodesMatch& found, Draft*) {
  PatternSource& source = found.source;
  const Shape pooled = source.ShapeOf(found["mean"]);
  return source.FromFx() && FxOperator(source, found.root()) == "as_strided" &&
         pooled == source.ShapeOf(source[found.root()].outputs[0]) && pooled.rank() >= 3 && pooled.FromEnd(1).Is(1) &&
         pooled.FromEnd(2).Is(1);
}

bool IsOfFx(const NodesMatch& found, Draft*) { return found.source.FromFx(); }

// Axes counted from the front: F.rms_norm, which nn.RMSNorm calls, was decomposed (ATen/native/layer_norm.cpp 2.10,
// rms_norm_composite, says input.dim() - 1). Who writes one by hand counts from the back: x.pow(2).mean(-1).
bool CountsAxesFromFront(const NodesMatch& found, Draft*) {
  const PatternSource& source = found.source;
  auto axes = source.IntegersOf(found.MakerOf("mean"), "axes", 1);
  if (!source.FromFx() || !axes.has_value() || axes->empty()) return false;
  std::sort(axes->begin(), axes->end());
  const auto rank = static_cast<int64_t>(source.RankOf(found["x"]));
  for (size_t i = 0; i < axes->size(); ++i) {
    if ((*axes)[i] != rank - static_cast<int64_t>(axes->size() - i)) return false;
  }
  return true;
}
bool IsScaledRmsNorm(const NodesMatch& found, Draft* draft) {
  return found.AreStored({"weight"}) && CountsAxesFromFront(found, draft);
}

// onnxsim joins products of one tensor with several weights (queries, keys and values): Split(MatMul(x, weights)).
struct JoinedProducts {
  NodeId matmul;
  TensorId weights;
};
std::optional<JoinedProducts> JoinedBefore(PatternSource& source, NodeId split) {
  if (!split.valid() || !source.FromPyTorch()) return std::nullopt;
  const NodeId matmul = source.OnlyMakerOf(source.In(split, 0), "MatMul");
  if (!matmul.valid() || !source[split].name.starts_with("Split_") || !source[matmul].name.starts_with("MatMul_"))
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
    const auto part = static_cast<size_t>(std::ranges::find(outputs, product) - outputs.begin());
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
  const std::string rms = "Mul(x, Reciprocal(Sqrt(Add(mean=ReduceMean(Pow(x, 2)), #))))";
  static const PatternRows rows = {
      Becomes("Gather(Reshape(mean=ReduceMean(x)))", "adaptive_avg_pool2d(x)", IsPoolToOnePixel),
      Becomes("Where(Greater(x), x, Softplus(x))", "softplus(x)", IsOfFx),  // onnxscript's
      Becomes("Mul(" + rms + ", weight)", "rms_norm(x, %weight)", IsScaledRmsNorm),
      Becomes(rms, "rms_norm(x, -)", CountsAxesFromFront),
      {"Add", MatchPartWithBias},
      {"Split", MatchParts}};
  return rows;
}

}  // namespace vramplan
