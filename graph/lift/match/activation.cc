// Activations that the exporter spells out: gelu, silu, hardswish, mish, softplus, and the single-node ones.
#include <limits>

#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

bool IsByOthers(const NodesMatch& found, Draft*) { return !found.source.FromPyTorch(); }

bool IsOfOneModule(const NodesMatch& found, Draft*) {
  return found.source.SameScope(found.MakerOf("gate"), found.root());
}
// ONNX Runtime writes functions as their bodies, without scopes (core/graph/function_utils.cc 1.20).
bool IsOfOneModuleOrInlined(const NodesMatch& found, Draft* draft) {
  return IsOfOneModule(found, draft) || found.source.NameOf(found["gate"]).starts_with("_inlfunc_");
}

// From opset 14 on PyTorch's exporters write HardSwish and HardSigmoid for its own (torchscript_exporter/
// symbolic_opset14.py and symbolic_opset9.py, 2.10): what is spelled out there was written out in the code.
bool IsOfOldOpset(const NodesMatch& found, Draft*) {
  constexpr int64_t kWithHardSwish = 14;
  return !found.source.FromPyTorch() || found.source.graph().opset() < kWithHardSwish;
}

// A stored scalar is a bound whatever its name is ("min_val_cast"): nobody trains one.
std::optional<double> Bound(PatternSource& source, TensorId tensor) {
  if (const auto number = source.Number(tensor)) return number;
  const StoredTensor* stored = tensor.valid() ? source.Stored(tensor) : nullptr;
  if (stored == nullptr || !stored->values.has_value() || stored->values->reals.size() != 1) return std::nullopt;
  return stored->values->reals[0];
}

// Shrink-9 of ONNX is x - bias above lambd, x + bias below -lambd, else 0: hardshrink and softshrink are its cases with
// no bias and with lambd as bias. PyTorch's own exporters take both apart (any_export/decomposed_calls.cc).
double ShrinkNumber(const NodesMatch& found, const char* name, double otherwise) {
  return found.source[found.root()].attributes.Real(name, otherwise);
}
bool HasNoBias(const NodesMatch& found, Draft*) { return ShrinkNumber(found, "bias", 0) == 0; }
bool HasItsLambdAsBias(const NodesMatch& found, Draft*) {
  return ShrinkNumber(found, "bias", 0) == ShrinkNumber(found, "lambd", 0.5);
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
  if (hardtanh) return source.EmitOf(root, "hardtanh");
  Attributes bounds;
  if (low.has_value()) bounds.Set("min", *low);
  if (high.has_value()) bounds.Set("max", *high);
  return source.EmitOf(root, "clamp", std::move(bounds));
}

bool MatchLeakyRelu(PatternSource& source, NodeId root) {
  return source.EmitOf(root, "leaky_relu", Named({{"negative_slope", source[root].attributes.Real("alpha", 0.01)}}));
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
  return source.Emit("prelu", {source.Input(root, 0), source.Parameter(slope, root, "weight", flat)}, std::move(nodes));
}

}  // namespace

const PatternRows& ActivationPatterns() {
  const std::string erf = "Add(Erf((Div(x, 1.41421) | Mul(x, 0.70711))), 1)";
  // With Pow instead of the products it is somebody's own formula (Hugging Face's NewGELUActivation), which really runs
  // operator by operator.
  const std::string tanh = "Add(Tanh(Mul(Add(x, Mul(Mul(x, Mul(x, x)), 0.044715)), 0.79788)), 1)";
  const std::string shifted = "Clip(Add(x, 3), 0, 6)";  // of opsets before 14 and of TensorFlow
  static const PatternRows rows = {
      // x * term: onnxsim moves the 0.5 into the weight behind it. PyTorch's exporter multiplies by 0.5 last: 0.5 * x *
      // (1 + erf) in a PyTorch file was written by hand.
      Becomes("Mul(x, " + erf + ")", "gelu(x, approximate=none)"),
      Becomes("Mul(Mul(x, " + erf + "), 0.5)", "gelu(x, approximate=none)"),
      Becomes("Mul(Mul(x, 0.5), " + erf + ")", "gelu(x, approximate=none)", IsByOthers),
      Becomes("Mul(x, Mul(" + erf + ", 0.5))", "gelu(x, approximate=none)", IsByOthers),
      Becomes("Mul(x, " + tanh + ")", "gelu(x, approximate=tanh)"),
      Becomes("Mul(Mul(x, " + tanh + "), 0.5)", "gelu(x, approximate=tanh)"),
      Becomes("Mul(Mul(x, 0.5), " + tanh + ")", "gelu(x, approximate=tanh)", IsByOthers),
      Becomes("Mul(x, Mul(" + tanh + ", 0.5))", "gelu(x, approximate=tanh)", IsByOthers),
      Becomes("Mul(x, gate=Sigmoid(x))", "silu(x)", IsOfOneModule),
      Becomes("Mul(x, gate=HardSigmoid(x))", "hardswish(x)", IsOfOneModuleOrInlined),
      Becomes("Mul(x, Tanh(Softplus(x)))", "mish(x)"),
      Becomes("Mul(x, (Div(" + shifted + ", 6) | Mul(" + shifted + ", 0.16667)))", "hardswish(x)", IsOfOldOpset),
      Becomes("Div(Mul(x, " + shifted + "), 6)", "hardswish(x)", IsOfOldOpset),
      Becomes("Div(" + shifted + ", 6)", "hardsigmoid(x)", IsOfOldOpset),
      {"Clip", MatchClip},
      {"LeakyRelu", MatchLeakyRelu},
      {"PRelu", MatchPRelu},
      Becomes("Swish(x)", "silu(x)"),
      Becomes("Shrink(x)", "hardshrink(x)", HasNoBias),
      Becomes("Shrink(x)", "softshrink(x)", HasItsLambdAsBias),
      Becomes("ThresholdedRelu(x)", "threshold(x)"),
  };
  return rows;
}

}  // namespace vramplan
