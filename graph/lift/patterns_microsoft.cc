// The fused operators that ONNX Runtime's optimizer puts into a file (com.microsoft; ContribOperators.md of ONNX
// Runtime 1.20), taken apart again: what PyTorch runs is their parts.
//
//   FusedConv(x, w, b) activation=Relu      ->  conv2d(x, w, b), relu
//   BiasGelu(x, b) behind a MatMul          ->  linear(x, w, b), gelu
//   SkipLayerNormalization(x, skip, ...)    ->  add(x, skip), layer_norm
#include <cmath>

#include "graph/lift/patterns_source.h"

namespace vramplan {
namespace {

Operand Beside(PatternSource& source, NodeId root, const char* suffix) {
  const TensorId output = source[root].outputs[0];
  return source.New(vramplan::Beside(source[root], suffix), source.TypeOf(output), source.ShapeOf(output));
}

void Pointwise(PatternSource& source, NodeId root, const char* op, std::vector<Operand> inputs, Operand output,
               Attributes attributes = {}) {
  source.Add({.op = op,
              .inputs = std::move(inputs),
              .outputs = {output},
              .attributes = std::move(attributes),
              .nodes = {root}});
}

// The activation that FusedConv and FusedGemm carry; null for none that is known.
const char* ActivationOf(const Node& node) {
  const std::string name = node.attributes.Text("activation", "");
  if (name == "Relu") return "relu";
  if (name == "LeakyRelu") return "leaky_relu";
  if (name == "Sigmoid") return "sigmoid";
  if (name == "Tanh") return "tanh";
  if (name == "Clip") return "hardtanh";
  if (name == "HardSigmoid") return "hardsigmoid";
  return nullptr;
}

bool MatchFusedConv(PatternSource& source, NodeId root) {
  const char* activation = ActivationOf(source[root]);
  if (activation == nullptr || source.In(root, 3).valid()) return false;
  const Operand convolved = Beside(source, root, "conv");
  const bool folded = HadBatchNorm(source, root);
  if (folded) source.CountFoldedBatchNorm();
  if (!EmitConvolution(source, root, "conv", convolved, folded)) return false;
  Pointwise(source, root, activation, {convolved}, source.Out(root));
  return true;
}

bool MatchFusedGemm(PatternSource& source, NodeId root) {
  const char* activation = ActivationOf(source[root]);
  const TensorId weight = source.In(root, 1);
  const Attributes& attributes = source[root].attributes;
  if (activation == nullptr || attributes.Int("transA", 0) != 0 || source.Stored(weight) == nullptr) return false;
  if (source.RankOf(weight) != 2) return false;
  std::optional<Shape> shape;
  if (attributes.Int("transB", 0) == 0) shape = Shape{source.ShapeOf(weight)[1], source.ShapeOf(weight)[0]};
  const Operand product = Beside(source, root, "product");
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
  const Operand product = alpha == 1 ? source.Out(root) : Beside(source, root, "product");
  Pointwise(source, root, "matmul", std::move(sides), product);
  if (alpha != 1) Pointwise(source, root, "mul", {product, Operand{}}, source.Out(root), Named({{"scalar", alpha}}));
  return true;
}

// BiasGelu(x, bias), FastGelu(x, bias?): a bias behind a product of a stored matrix is nn.Linear's.
bool MatchBiasGelu(PatternSource& source, NodeId root) {
  const bool fast = source[root].op == "FastGelu";
  Attributes approximate = Named({{"approximate", std::string(fast ? "tanh" : "none")}});
  const TensorId bias = source.In(root, 1);
  if (!bias.valid()) {
    Pointwise(source, root, "gelu", {source.Use(source.In(root, 0))}, source.Out(root), std::move(approximate));
    return true;
  }
  const Operand sum = Beside(source, root, "bias");
  const NodeId matmul = source.OnlyMakerOf(source.In(root, 0), "MatMul");
  const TensorId weight = matmul.valid() ? source.In(matmul, 1) : TensorId{};
  if (weight.valid() && source.Stored(weight) != nullptr && source.RankOf(weight) == 2) {
    const Shape stored = source.ShapeOf(weight);
    source.Add({.op = "linear",
                .inputs = {source.Use(source.In(matmul, 0)),
                           source.Parameter(weight, matmul, "weight", Shape{stored[1], stored[0]}),
                           source.Parameter(bias, matmul, "bias")},
                .outputs = {sum},
                .attributes = {},
                .nodes = {matmul, root}});
  } else {
    Pointwise(source, root, "add", {source.Use(source.In(root, 0)), source.Parameter(bias, root, "bias")}, sum);
  }
  Pointwise(source, root, "gelu", {sum}, source.Out(root), std::move(approximate));
  return true;
}

// x * sigmoid(alpha * x)
bool MatchQuickGelu(PatternSource& source, NodeId root) {
  const double alpha = source[root].attributes.Real("alpha", 1.702);
  const Operand x = source.Use(source.In(root, 0));
  if (std::abs(alpha - 1) < 1e-6) {
    Pointwise(source, root, "silu", {x}, source.Out(root));
    return true;
  }
  const Operand scaled = Beside(source, root, "scaled"), gate = Beside(source, root, "gate");
  Pointwise(source, root, "mul", {x, Operand{}}, scaled, Named({{"scalar", alpha}}));
  Pointwise(source, root, "sigmoid", {scaled}, gate);
  Pointwise(source, root, "mul", {x, gate}, source.Out(root));
  return true;
}

// input, skip, gamma, beta?, bias?: the sum is the fourth output; the simplified form has no beta.
bool MatchSkipNorm(PatternSource& source, NodeId root) {
  const bool simplified = source[root].op == "SkipSimplifiedLayerNormalization";
  Operand sum = source.Out(root, 3);
  if (!sum.valid()) sum = Beside(source, root, "sum");
  Operand input = source.Use(source.In(root, 0));
  if (const TensorId bias = source.In(root, simplified ? 3 : 4); bias.valid()) {
    const Operand biased = Beside(source, root, "biased");
    Pointwise(source, root, "add", {input, source.Parameter(bias, root, "bias")}, biased);
    input = biased;
  }
  Pointwise(source, root, "add", {input, source.Use(source.In(root, 1))}, sum);
  std::vector<Operand> inputs = {sum, source.Parameter(source.In(root, 2), root, "weight")};
  if (!simplified) inputs.push_back(source.Parameter(source.In(root, 3), root, "bias"));
  Pointwise(source, root, simplified ? "rms_norm" : "layer_norm", std::move(inputs), source.Out(root),
            simplified ? Attributes() : Named({{"normalized_axes", int64_t{1}}}));
  return true;
}

}  // namespace

const PatternRows& MicrosoftPatterns() {
  static const PatternRows rows = {
      {"FusedConv", MatchFusedConv},
      {"FusedGemm", MatchFusedGemm},
      {"FusedMatMul", MatchFusedMatMul},
      {"BiasGelu", MatchBiasGelu},
      {"FastGelu", MatchBiasGelu},
      {"QuickGelu", MatchQuickGelu},
      {"SkipLayerNormalization", MatchSkipNorm},
      {"SkipSimplifiedLayerNormalization", MatchSkipNorm},
  };
  return rows;
}

}  // namespace vramplan
