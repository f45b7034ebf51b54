// The fused operators that ONNX Runtime's optimizer puts into a file (com.microsoft; ContribOperators.md of ONNX
// Runtime 1.20), taken apart again: what PyTorch runs is their parts.
//
//   BiasGelu(x, b) behind a MatMul          ->  linear(x, w, b), gelu
//   SkipLayerNormalization(x, skip, ...)    ->  add(x, skip), layer_norm
#include <cmath>

#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

bool MatchFusedGemm(PatternSource& source, NodeId root) {
  const char* activation = FusedActivationOf(source[root]);
  const TensorId weight = source.In(root, 1);
  const Attributes& attributes = source[root].attributes;
  if (activation == nullptr || attributes.Int("transA", 0) != 0 || source.Stored(weight) == nullptr) return false;
  if (source.RankOf(weight) != 2) return false;
  std::optional<Shape> shape;
  if (attributes.Int("transB", 0) == 0) shape = Shape{source.ShapeOf(weight)[1], source.ShapeOf(weight)[0]};
  const Operand product = FusedParts(source, root)
                              .Make("linear", {source.Input(root, 0), source.Parameter(weight, root, "weight", shape),
                                               source.Parameter(source.In(root, 2), root, "bias")});
  return source.Emit(activation, {product}, {root});
}

// FusedMatMul(a, b) alpha transB: a product of one turned side, scaled.
bool MatchFusedMatMul(PatternSource& source, NodeId root) {
  const Attributes& attributes = source[root].attributes;
  if (AddLinearBehind(source, source[root].outputs[0], {}, root, source.Out(root))) return true;
  FusedParts parts(source, root);
  std::vector<Operand> sides = {SideOf(source, root, 0), SideOf(source, root, 1)};
  if (!sides[0].valid() || !sides[1].valid()) return false;
  const double alpha = attributes.Real("alpha", 1);
  if (alpha == 1) return source.Emit("matmul", std::move(sides), {root});
  return source.Emit("mul", {parts.Make("matmul", std::move(sides)), Operand{}}, {root}, Named({{"scalar", alpha}}));
}

// The last of the multiplications that PyTorch's code made of a gelu says which it was, as the exporter numbers the
// nodes of a module: nn.GELU ends in its second, NewGELUActivation in its fourth, gelu(approximate="tanh") in its sixth
// (symbolic_opset9.py 2.10, gelu; transformers/activations.py 5.23).
enum class Gelu { kExact, kTanh, kWritten };
Gelu GeluOf(const PatternSource& source, NodeId root) {
  if (source[root].op != "FastGelu") return Gelu::kExact;
  // Gelu and BiasGelu that the optimizer was allowed to approximate (fusion_gelu_approximation.py 1.31).
  if (source[root].name.find("_Approximation") != std::string::npos) return Gelu::kExact;
  const std::string& result = source.NameOf(source[root].outputs[0]);
  const auto ends_in = [&](const char* text) { return result.find(text) != std::string::npos; };
  if (ends_in("/Mul_1_output")) return Gelu::kExact;
  if (ends_in("/Mul_5_output")) return Gelu::kTanh;
  // GPT-2 and its children write it out, and so do they all who came before PyTorch 1.12 had it.
  return source.FromPyTorch() ? Gelu::kWritten : Gelu::kTanh;
}

// BiasGelu(x, bias), FastGelu(x, bias?): a bias behind a product of a stored matrix is nn.Linear's.
bool MatchBiasGelu(PatternSource& source, NodeId root) {
  const Operand sum = WithBias(source, source.In(root, 0), source.In(root, 1), root);
  const Gelu gelu = GeluOf(source, root);
  if (gelu != Gelu::kWritten) {
    return source.Emit("gelu", {sum}, {root},
                       Named({{"approximate", std::string(gelu == Gelu::kTanh ? "tanh" : "none")}}));
  }
  FusedParts(source, root).PutWrittenGelu(sum, source.ShapeOf(source[root].outputs[0]), source.Out(root));
  return true;
}

// Add(FusedMatMul(x, weight), bias): the product was turned; others are patterns_linear.cc's.
bool MatchFusedLinear(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId bias = source.In(root, side), product = source.In(root, 1 - side);
    if (source.Stored(bias) == nullptr || !source.IsInitializer(bias) || source.RankOf(bias) != 1) continue;
    if (!source.OnlyMakerOf(product, "FusedMatMul").valid()) continue;
    if (source.ShapeOf(bias)[0] != source.ShapeOf(product).FromEnd(1)) continue;
    return AddLinearBehind(source, product, source.Parameter(bias, root, "bias"), root, source.Out(root));
  }
  return false;
}

// x * sigmoid(alpha * x)
bool MatchQuickGelu(PatternSource& source, NodeId root) {
  const double alpha = source[root].attributes.Real("alpha", 1.702);
  const Operand x = source.Input(root, 0);
  if (std::abs(alpha - 1) < 1e-6) return source.Emit("silu", {x}, {root});
  FusedParts parts(source, root);
  const Operand gate = parts.Make("sigmoid", {parts.Make("mul", {x, Operand{}}, Named({{"scalar", alpha}}))});
  return source.Emit("mul", {x, gate}, {root});
}

// The sum stands in front of the norm: where its name says, or in the module that holds the norm.
ModulePath PathOfSum(const PatternSource& source, NodeId root) {
  const Node& node = source[root];
  if (node.outputs.size() > 3 && node.outputs[3].valid()) {
    const ModulePath* named = source.modules().PathOf(node.outputs[3]);
    if (named != nullptr && *named != source.modules().PathOf(root)) return *named;
  }
  ModulePath path = source.modules().PathOf(root);
  if (!path.empty()) path.pop_back();
  return path;
}

// input, skip, gamma, beta?, bias?: the sum is the fourth output; the simplified form has no beta.
bool MatchSkipNorm(PatternSource& source, NodeId root) {
  const bool simplified = source[root].op == "SkipSimplifiedLayerNormalization";
  const TensorId output = source[root].outputs[0];
  Operand sum = source.Out(root, 3);
  if (!sum.valid()) sum = source.New(Beside(source[root], "sum"), source.TypeOf(output), source.ShapeOf(output));
  const Operand input = WithBias(source, source.In(root, 0), source.In(root, simplified ? 3 : 4), root);
  source.Add({.op = "add",
              .inputs = {input, source.Input(root, 1)},
              .outputs = {sum},
              .nodes = {root},
              .path = PathOfSum(source, root)});
  if (simplified && source.FromPyTorch()) {
    FusedParts(source, root).PutRmsNorm(sum, source.ShapeOf(source.In(root, 0)), source.In(root, 2), source.Out(root));
    return true;
  }
  const Operand weight = source.Parameter(source.In(root, 2), root, "weight");
  if (simplified) return source.Emit("rms_norm", {sum, weight}, {root});
  return source.Emit("layer_norm", {sum, weight, source.Parameter(source.In(root, 3), root, "bias")}, {root},
                     Named({{"normalized_axes", int64_t{1}}}));
}

}  // namespace

const PatternRows& MicrosoftPatterns() {
  static const PatternRows rows = {
      {"FusedGemm", MatchFusedGemm},        {"FusedMatMul", MatchFusedMatMul},
      {"BiasGelu|FastGelu", MatchBiasGelu}, {"Add", MatchFusedLinear},
      {"QuickGelu", MatchQuickGelu},        {"SkipLayerNormalization|SkipSimplifiedLayerNormalization", MatchSkipNorm},
  };
  return rows;
}

}  // namespace vramplan
