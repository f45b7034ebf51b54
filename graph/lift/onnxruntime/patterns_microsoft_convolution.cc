// What ONNX Runtime's graph optimizers make of convolutions (core/optimizer/conv_activation_fusion.cc,
// conv_mul_fusion.cc, conv_bn_fusion.cc, nchwc_transformer.cc 1.20), taken apart again:
//
//   FusedConv(x, w, b, z) activation=Relu     ->  conv2d(x, w, b), add(., z), relu
//   Conv(x, ConvMulFusion_W_fc2.weight, b)     ->  conv2d(x, w, b), mul(., gamma)
//   com.microsoft.nchwc Conv, ReorderOutput    ->  the same as FusedConv; nothing
#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

constexpr const char* kScaled = "ConvMulFusion_W_";

bool InBlocks(const PatternSource& source, NodeId node) { return source[node].domain == "com.microsoft.nchwc"; }

// In blocks of channels the weight has a name of the optimizer's, the bias still tells.
bool HadOwnBatchNorm(PatternSource& source, NodeId root) {
  const TensorId bias = source.In(root, 2);
  return HadBatchNorm(source, root) ||
         (InBlocks(source, root) && source.FromPyTorch() && bias.valid() && !source.HasModulePath(bias));
}

bool MatchOptimizedConv(PatternSource& source, NodeId root) {
  const Node& node = source[root];
  const TensorId weight = source.In(root, 1), addend = source.In(root, 3);
  const bool scaled = weight.valid() && source.NameOf(weight).starts_with(kScaled);
  if (node.op == "Conv" && !scaled && !InBlocks(source, root)) return false;
  const char* activation = FusedActivationOf(node);
  if (activation == nullptr && node.attributes.Has("activation")) return false;
  const Shape shape = source.ShapeOf(node.outputs[0]);
  const bool plain = activation == nullptr && !addend.valid() && !scaled;
  const Operand convolved =
      plain ? source.Out(root) : source.New(Beside(node, "conv"), source.TypeOf(node.outputs[0]), shape);
  const bool folded = HadOwnBatchNorm(source, root);
  if (!EmitConvolution(source, root, "conv", convolved, folded)) return false;
  if (plain) return true;
  FusedParts parts(source, root);
  const auto put = [&](const char* op, std::vector<Operand> inputs, bool last) {
    if (!last) return parts.Make(op, shape, std::move(inputs));
    parts.Put(op, std::move(inputs), source.Out(root));
    return source.Out(root);
  };
  Operand result = convolved;
  if (scaled) {
    Shape scale = shape;
    for (int axis = 0; axis < scale.rank(); ++axis) scale[axis] = axis == 1 ? shape[1] : Dim(1);
    const Operand gamma = source.LostParameter(root, "gamma", source.TypeOf(node.outputs[0]), Shape{shape[1]});
    const Operand view = parts.Make("reshape", scale, {gamma});
    result = put("mul", {result, view}, activation == nullptr && !addend.valid());
  }
  if (addend.valid()) result = put("add", {result, source.Use(addend)}, activation == nullptr);
  if (activation != nullptr) put(activation, {result}, true);
  return true;
}

// Only the order of bytes changes; PyTorch did nothing here.
bool MatchReorder(PatternSource& source, NodeId root) {
  if (!InBlocks(source, root)) return false;
  FusedParts(source, root).Put("reshape", {source.Input(root, 0)}, source.Out(root));
  return true;
}

}  // namespace

const PatternRows& MicrosoftConvolutionPatterns() {
  static const PatternRows rows = {{"Conv|FusedConv", MatchOptimizedConv},
                                   {"ReorderInput|ReorderOutput", MatchReorder}};
  return rows;
}

}  // namespace vramplan
