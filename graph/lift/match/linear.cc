// Matrix products: nn.Linear, Hugging Face's Conv1D (addmm), and plain products.
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// The weight of a product with a stored right side, as the framework keeps it.
struct Weight {
  TensorId tensor;
  bool transposed = false;  // the file has [in, out] where nn.Linear has [out, in]
  std::vector<NodeId> nodes;
  bool part = false;  // of a stored matrix, cut out of it in the graph
};

// w_q, w_kv = in_proj_weight.split([e, 2 * e]): nn.MultiheadAttention where the keys are not the queries
// (torch/nn/functional.py 2.10, _in_projection_packed); each goes into an F.linear.
bool IsPartOfStored(PatternSource& source, TensorId tensor) {
  for (const char* op : {"Slice", "Split"}) {
    const NodeId cut = source.MakerOf(tensor, op);
    if (cut.valid() && source.Stored(source.In(cut, 0)) != nullptr && source.IsInitializer(source.In(cut, 0)))
      return true;
  }
  return false;
}

// x @ Transpose(weight), which eval exports fold into a stored [in, out] tensor with a made-up name. A stored right
// side that kept its module path was written `x @ weight`.
std::optional<Weight> WeightOf(PatternSource& source, NodeId matmul) {
  const TensorId right = source.In(matmul, 1);
  if (!right.valid()) return std::nullopt;
  if (source.Stored(right) != nullptr) {
    if (source.RankOf(right) != 2 || !source.IsInitializer(right)) return std::nullopt;
    if (source.FromPyTorch() && source.HasModulePath(right)) return std::nullopt;
    return Weight{right, true, {}};
  }
  const NodeId transpose = source.MakerOf(right, "Transpose");
  if (!transpose.valid()) return std::nullopt;
  const TensorId weight = source.In(transpose, 0);
  if (source.RankOf(weight) != 2) return std::nullopt;
  if (source.Stored(weight) != nullptr) return Weight{weight, false, {transpose}};
  if (IsPartOfStored(source, weight)) return Weight{weight, false, {transpose}, true};
  return std::nullopt;
}

// nn.MultiheadAttention's in_proj_bias stands beside an in_proj_weight.
std::string WeightLeaf(PatternSource& source, TensorId bias) {
  constexpr std::string_view kBias = "bias";
  if (!bias.valid() || !source.HasModulePath(bias)) return "weight";
  const std::string& name = source.NameOf(bias);
  const std::string leaf = name.substr(name.rfind('.') + 1);
  return leaf.ends_with(kBias) ? leaf.substr(0, leaf.size() - kBias.size()) + "weight" : "weight";
}

Operand WeightOperand(PatternSource& source, const Weight& weight, NodeId user, TensorId bias = {}) {
  if (weight.part) return source.Use(weight.tensor);
  const std::string leaf = WeightLeaf(source, bias);
  if (!weight.transposed) return source.Parameter(weight.tensor, user, leaf);
  const Shape stored = source.ShapeOf(weight.tensor);
  return source.Parameter(weight.tensor, user, leaf, Shape{stored[1], stored[0]});
}

// MatMul(x, Transpose(weight)), Add(bias)  ->  linear(x, weight, bias)
bool IsLinearWithBias(const NodesMatch& found, Draft* draft) {
  PatternSource& source = found.source;
  const TensorId bias = found["bias"], product = found["product"];
  const NodeId matmul = found.MakerOf("product");
  const bool part = IsPartOfStored(source, bias);
  if (source.RankOf(bias) != 1 || (!part && !found.AreStored({"bias"}))) return false;
  if (source.FromPyTorch() && !source.SameScope(found.root(), matmul)) return false;
  const std::optional<Weight> weight = WeightOf(source, matmul);
  if (!weight || source.RankOf(product) < 1 || source.ShapeOf(bias)[0] != source.ShapeOf(product).FromEnd(1))
    return false;
  draft->nodes.insert(draft->nodes.begin(), weight->nodes.begin(), weight->nodes.end());
  draft->inputs = {source.Input(matmul, 0), WeightOperand(source, *weight, matmul, bias),
                   part ? source.Use(bias) : source.Parameter(bias, found.root(), "bias")};
  return true;
}

// Simplifiers take out additions of zeros, which are most biases before training. onnxslim lets the product have the
// sum's name: /fc/MatMul makes "/fc/Add_output_0"; the dynamo exporter's names tell it with both.
Operand LostBias(PatternSource& source, NodeId matmul) {
  const TensorId output = source[matmul].outputs[0];
  if (source.FromFx() && LostLastNode(source.graph(), matmul) && source.RankOf(output) > 0) {
    TensorId weight = source.In(matmul, 1);
    if (const NodeId transpose = source.MakerOf(weight, "Transpose"); transpose.valid())
      weight = source.In(transpose, 0);
    return source.LostParameter(matmul, "bias", source.TypeOf(output), Shape{source.ShapeOf(output).FromEnd(1)},
                                weight);
  }
  // onnxsim drops it from one of the products that share a weight and keeps it in the others, which it made Gemms.
  for (const NodeId user : source.UsersOf(source.In(matmul, 1))) {
    const TensorId kept = source[user].op == "Gemm" ? source.In(user, 2) : TensorId{};
    if (source.FromPyTorch() && kept.valid() && source.Stored(kept) != nullptr && source.RankOf(kept) == 1)
      return source.Parameter(kept, user, "bias");
  }
  const std::string& result = source.NameOf(output);
  const size_t slash = source[matmul].name.rfind('/');
  if (!source.FromPyTorch() || slash == std::string::npos || source.RankOf(output) < 1) return {};
  if (result.compare(0, slash, source[matmul].name, 0, slash) != 0 || result.compare(slash, 4, "/Add") != 0) return {};
  return source.LostParameter(matmul, "bias", source.TypeOf(output), Shape{source.ShapeOf(output).FromEnd(1)});
}

bool MatchMatMul(PatternSource& source, NodeId root) {
  if (std::optional<Weight> weight = WeightOf(source, root)) {
    std::vector<NodeId> nodes = std::move(weight->nodes);
    nodes.push_back(root);
    return source.Emit("linear", {source.Input(root, 0), WeightOperand(source, *weight, root), LostBias(source, root)},
                       std::move(nodes));
  }
  return source.Emit("matmul", {source.Input(root, 0), source.Input(root, 1)}, {root});
}

// Gemm(x, weight [out, in], transB) is nn.Linear on a matrix; without transB a weight with a module path is Hugging
// Face's Conv1D, torch.addmm(bias, x, weight) (transformers/pytorch_utils.py 5.23).
bool MatchGemm(PatternSource& source, NodeId root) {
  const Attributes& attributes = source[root].attributes;
  const TensorId right = source.In(root, 1), bias = source.In(root, 2);
  const bool stored = source.Stored(right) != nullptr;
  const bool transposed = attributes.Int("transB", 0) != 0;
  const bool linear = transposed || (stored && !source.HasModulePath(right));
  if (attributes.Int("transA", 0) == 0 && linear) {
    // A matrix that needs no transposing has no reason to lose its name but a sum or product that was folded into it.
    const bool computed =
        stored && transposed && source.FromPyTorch() && !source.FromFx() && !source.HasModulePath(right);
    // What is not stored the forward computes: F.linear(x, self.weight * self.mask, self.bias).
    const Operand weight =
        stored ? WeightOperand(source, Weight{right, !transposed, {}}, root, bias) : source.Use(right);
    const Operand lost = stored && !bias.valid() ? LostBias(source, root) : Operand();
    return source.Emit("linear",
                       {source.Input(root, 0), weight, bias.valid() ? source.Parameter(bias, root, "bias") : lost},
                       {root}, computed ? Named({{"computed_weight", int64_t{1}}}) : Attributes());
  }
  std::vector<Operand> inputs = {source.Input(root, 0), source.Parameter(right, root, "weight")};
  if (!bias.valid()) return source.Emit("mm", std::move(inputs), {root});
  inputs.insert(inputs.begin(), source.Parameter(bias, root, "bias"));
  return source.Emit("addmm", std::move(inputs), {root});
}

// torch.einsum: semantics permutes, multiplies and sums as the equation says.
bool MatchEinsum(PatternSource& source, NodeId root) {
  std::vector<Operand> inputs;
  for (size_t i = 0; i < source[root].inputs.size(); ++i) inputs.push_back(source.Input(root, i));
  return source.Emit("einsum", std::move(inputs), {root},
                     Named({{"equation", source[root].attributes.Text("equation", "")}}));
}

}  // namespace

const PatternRows& LinearPatterns() {
  static const PatternRows rows = {Becomes("Add(product=MatMul(), bias)", "linear()", IsLinearWithBias),
                                   {"MatMul", MatchMatMul},
                                   {"Gemm", MatchGemm},
                                   {"Einsum", MatchEinsum}};
  return rows;
}

}  // namespace vramplan
