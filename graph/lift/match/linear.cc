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

bool MatchMatMul(PatternSource& source, NodeId root) {
  if (std::optional<Weight> weight = WeightOf(source, root)) {
    std::vector<NodeId> nodes = std::move(weight->nodes);
    nodes.push_back(root);
    return source.Emit("linear", {source.Input(root, 0), WeightOperand(source, *weight, root), Operand()},
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
    // What is not stored the forward computes: F.linear(x, self.weight * self.mask, self.bias).
    const Operand weight =
        stored ? WeightOperand(source, Weight{right, !transposed, {}}, root, bias) : source.Use(right);
    return source.Emit("linear",
                       {source.Input(root, 0), weight, bias.valid() ? source.Parameter(bias, root, "bias") : Operand()},
                       {root});
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
