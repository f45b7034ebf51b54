// The fused operators that ONNX Runtime's optimizer puts into a file (com.microsoft; ContribOperators.md of ONNX
// Runtime 1.20), taken apart again: what PyTorch runs is their parts.
//
//   BiasGelu(x, b) behind a MatMul          ->  linear(x, w, b), gelu
//   SkipLayerNormalization(x, skip, ...)    ->  add(x, skip), layer_norm
#include <cmath>

#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_activation.h"
#include "graph/lift/onnxruntime/fused_linear.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

Operand LikeResult(PatternSource& source, NodeId root, const char* suffix) {
  const TensorId output = source[root].outputs[0];
  return source.New(vramplan::Beside(source[root], suffix), source.TypeOf(output), source.ShapeOf(output));
}

void Pointwise(PatternSource& source, NodeId root, const char* op, std::vector<Operand> inputs, Operand output,
               Attributes attributes = {}) {
  source.Put(output, op, std::move(inputs), {root}, std::move(attributes));
}

bool MatchFusedGemm(PatternSource& source, NodeId root) {
  const char* activation = FusedActivationOf(source[root]);
  const TensorId weight = source.In(root, 1);
  const Attributes& attributes = source[root].attributes;
  if (activation == nullptr || attributes.Int("transA", 0) != 0 || source.Stored(weight) == nullptr) return false;
  if (source.RankOf(weight) != 2) return false;
  std::optional<Shape> shape;
  if (attributes.Int("transB", 0) == 0) shape = Shape{source.ShapeOf(weight)[1], source.ShapeOf(weight)[0]};
  const Operand product = LikeResult(source, root, "product");
  Pointwise(source, root, "linear",
            {source.Use(source.In(root, 0)), source.Parameter(weight, root, "weight", shape),
             source.Parameter(source.In(root, 2), root, "bias")},
            product);
  Pointwise(source, root, activation, {product}, source.Out(root));
  return true;
}

// FusedMatMul(a, b) alpha transB: a product of one turned side, scaled.
bool MatchFusedMatMul(PatternSource& source, NodeId root) {
  const Attributes& attributes = source[root].attributes;
  const double alpha = attributes.Real("alpha", 1);
  if (AddLinearBehind(source, source[root].outputs[0], {}, root, source.Out(root))) return true;
  std::vector<Operand> sides;
  for (size_t i = 0; i < 2; ++i) {
    Operand side = source.Use(source.In(root, i));
    if (attributes.Int(i == 0 ? "transA" : "transB", 0) != 0) {
      Shape shape = source.ShapeOf(source.In(root, i));
      const int rank = shape.rank();
      if (rank < 2) return false;
      std::swap(shape[rank - 1], shape[rank - 2]);
      const Operand turned =
          source.New(vramplan::Beside(source[root], i == 0 ? "a" : "b"), source.TypeOf(source.In(root, i)), shape);
      Pointwise(source, root, "transpose", {side}, turned, Named({{"dim0", rank - 2}, {"dim1", rank - 1}}));
      side = turned;
    }
    sides.push_back(side);
  }
  const Operand product = alpha == 1 ? source.Out(root) : LikeResult(source, root, "product");
  Pointwise(source, root, "matmul", std::move(sides), product);
  if (alpha != 1) Pointwise(source, root, "mul", {product, Operand{}}, source.Out(root), Named({{"scalar", alpha}}));
  return true;
}

// The last of the multiplications that PyTorch's code made of a gelu says which it was, as the exporter numbers the
// nodes of a module: nn.GELU ends in its second, NewGELUActivation in its fourth, gelu(approximate="tanh") in its sixth
// (symbolic_opset9.py 2.10, gelu; transformers/activations.py 5.23).
enum class Gelu { kExact, kTanh, kWritten };
Gelu GeluOf(const PatternSource& source, NodeId root) {
  if (source[root].op != "FastGelu") return Gelu::kExact;
  // Gelu and BiasGelu that the optimizer was allowed to approximate (fusion_gelu_approximation.py 1.31).
  if (source[root].name.find("_Approximation") != std::string::npos) return Gelu::kExact;
  const std::string& result = source.graph()[source[root].outputs[0]].name;
  const auto ends_in = [&](const char* text) { return result.find(text) != std::string::npos; };
  if (ends_in("/Mul_1_output")) return Gelu::kExact;
  if (ends_in("/Mul_5_output")) return Gelu::kTanh;
  // GPT-2 and its children write it out, and so do they all who came before PyTorch 1.12 had it.
  return source.FromPyTorch() ? Gelu::kWritten : Gelu::kTanh;
}

// BiasGelu(x, bias), FastGelu(x, bias?): a bias behind a product of a stored matrix is nn.Linear's.
bool MatchBiasGelu(PatternSource& source, NodeId root) {
  const TensorId x = source.In(root, 0), bias = source.In(root, 1);
  Operand sum;
  if (bias.valid()) {
    sum = LikeResult(source, root, "bias");
    AddBias(source, x, bias, root, sum);
  } else {
    sum = source.Use(x);
  }
  const Gelu gelu = GeluOf(source, root);
  if (gelu == Gelu::kWritten) {
    FusedParts(source, root).PutWrittenGelu(sum, source.ShapeOf(source[root].outputs[0]), source.Out(root));
  } else {
    Pointwise(source, root, "gelu", {sum}, source.Out(root),
              Named({{"approximate", std::string(gelu == Gelu::kTanh ? "tanh" : "none")}}));
  }
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
  const Operand x = source.Use(source.In(root, 0));
  if (std::abs(alpha - 1) < 1e-6) {
    Pointwise(source, root, "silu", {x}, source.Out(root));
    return true;
  }
  const Operand scaled = LikeResult(source, root, "scaled"), gate = LikeResult(source, root, "gate");
  Pointwise(source, root, "mul", {x, Operand{}}, scaled, Named({{"scalar", alpha}}));
  Pointwise(source, root, "sigmoid", {scaled}, gate);
  Pointwise(source, root, "mul", {x, gate}, source.Out(root));
  return true;
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
  Operand sum = source.Out(root, 3);
  if (!sum.valid()) sum = LikeResult(source, root, "sum");
  Operand input;
  if (const TensorId bias = source.In(root, simplified ? 3 : 4); bias.valid()) {
    input = LikeResult(source, root, "biased");
    AddBias(source, source.In(root, 0), bias, root, input);
  } else {
    input = source.Use(source.In(root, 0));
  }
  source.Add({.op = "add",
              .inputs = {input, source.Use(source.In(root, 1))},
              .outputs = {sum},
              .attributes = {},
              .nodes = {root},
              .position = {},
              .path = PathOfSum(source, root)});
  if (simplified && source.FromPyTorch()) {
    FusedParts(source, root).PutRmsNorm(sum, source.ShapeOf(source.In(root, 0)), source.In(root, 2), source.Out(root));
    return true;
  }
  std::vector<Operand> inputs = {sum, source.Parameter(source.In(root, 2), root, "weight")};
  if (!simplified) inputs.push_back(source.Parameter(source.In(root, 3), root, "bias"));
  Pointwise(source, root, simplified ? "rms_norm" : "layer_norm", std::move(inputs), source.Out(root),
            simplified ? Attributes() : Named({{"normalized_axes", int64_t{1}}}));
  return true;
}

}  // namespace

const PatternRows& MicrosoftPatterns() {
  static const PatternRows rows = {
      {"FusedGemm", MatchFusedGemm},
      {"FusedMatMul", MatchFusedMatMul},
      {"BiasGelu", MatchBiasGelu},
      {"FastGelu", MatchBiasGelu},
      {"Add", MatchFusedLinear},
      {"QuickGelu", MatchQuickGelu},
      {"SkipLayerNormalization", MatchSkipNorm},
      {"SkipSimplifiedLayerNormalization", MatchSkipNorm},
  };
  return rows;
}

}  // namespace vramplan
