// nn.Linear on more than two axes, written as a product of matrices between two reshapes:
//
//   Reshape([-1, K]), Gemm(weight, bias), Reshape            onnxsim, and tf2onnx for EinsumDense
//   Reshape([-1, K]), MatMul(weight), Reshape, Add(bias)     tf2onnx for Dense
//
//   ->   linear(x, weight, bias)
#include "graph/lift/match/source.h"

namespace vramplan {
namespace {

// PyTorch code that reshapes around a product itself keeps its reshapes: a simplifier's have no scope.
bool IsMadeUp(PatternSource& source, NodeId node) {
  const std::string& name = source[node].name;
  return !source.FromPyTorch() || (name.find('/') == std::string::npos && name.rfind("node_", 0) != 0);
}

// The stored matrix behind a Transpose or a Reshape.
TensorId StoredMatrix(PatternSource& source, TensorId tensor, std::vector<NodeId>& nodes) {
  if (!tensor.valid()) return {};
  for (const char* op : {"Transpose", "Reshape"}) {
    const NodeId view = source.MakerOf(tensor, op);
    if (!view.valid()) continue;
    nodes.push_back(view);
    tensor = source.In(view, 0);
    break;
  }
  const StoredTensor* stored = source.Stored(tensor);
  return stored != nullptr && source.IsInitializer(tensor) && stored->dims.size() >= 2 ? tensor : TensorId{};
}

struct DenseProduct {
  TensorId input, weight, bias;
  std::vector<NodeId> nodes;
};

// Reshape(Gemm(Reshape(x), weight, bias?)), Reshape(MatMul(Reshape(x), weight)): rows stay rows.
std::optional<DenseProduct> ProductBetweenReshapes(PatternSource& source, NodeId back) {
  if (!back.valid() || !IsMadeUp(source, back)) return std::nullopt;
  DenseProduct product;
  const TensorId flat = source.In(back, 0);
  TensorId result = flat;
  if (const NodeId add = source.OnlyMakerOf(flat, "Add"); add.valid()) {
    const size_t side = source.Stored(source.In(add, 0)) != nullptr ? 0 : 1;
    if (source.Stored(source.In(add, side)) == nullptr || source.RankOf(source.In(add, side)) != 1) return std::nullopt;
    product.bias = source.In(add, side);
    product.nodes.push_back(add);
    result = source.In(add, 1 - side);
  }
  NodeId node = source.OnlyMakerOf(result, "MatMul");
  if (const NodeId gemm = source.OnlyMakerOf(result, "Gemm"); gemm.valid() && !product.bias.valid()) {
    if (source[gemm].attributes.Int("transA", 0) != 0) return std::nullopt;
    if (source[gemm].inputs.size() > 2) product.bias = source.In(gemm, 2);
    node = gemm;
  }
  const NodeId there = node.valid() ? source.MakerOf(source.In(node, 0), "Reshape") : NodeId{};
  if (!there.valid()) return std::nullopt;
  product.nodes.insert(product.nodes.end(), {there, node});
  product.weight = StoredMatrix(source, source.In(node, 1), product.nodes);
  product.input = source.In(there, 0);
  const Shape in = source.ShapeOf(product.input), rows = source.ShapeOf(source.In(node, 0));
  const Shape out = source.ShapeOf(source[back].outputs[0]), flat_out = source.ShapeOf(flat);
  if (!product.weight.valid() || rows.rank() != 2 || flat_out.rank() != 2 || in.rank() < 2) return std::nullopt;
  if (in.rank() != out.rank() || in.FromEnd(1) != rows[1] || out.FromEnd(1) != flat_out[1]) return std::nullopt;
  for (int axis = 0; axis + 1 < in.rank(); ++axis) {
    if (in[axis] != out[axis]) return std::nullopt;
  }
  return product;
}

bool EmitLinear(PatternSource& source, DenseProduct product, TensorId bias, NodeId root) {
  const Shape weight{source.ShapeOf(source[root].outputs[0]).FromEnd(1), source.ShapeOf(product.input).FromEnd(1)};
  product.nodes.push_back(root);
  return source.Emit("linear",
                     {source.Use(product.input), source.Parameter(product.weight, root, "weight", weight),
                      source.Parameter(bias, root, "bias")},
                     std::move(product.nodes));
}

bool MatchReshapedProduct(PatternSource& source, NodeId root) {
  auto product = ProductBetweenReshapes(source, root);
  return product.has_value() && EmitLinear(source, *product, product->bias, root);
}

bool MatchReshapedProductWithBias(PatternSource& source, NodeId root) {
  for (size_t side = 0; side < 2; ++side) {
    const TensorId bias = source.In(root, side);
    if (source.Stored(bias) == nullptr || !source.IsInitializer(bias) || source.RankOf(bias) != 1) continue;
    const NodeId back = source.OnlyMakerOf(source.In(root, 1 - side), "Reshape");
    auto product = ProductBetweenReshapes(source, back);
    if (!product.has_value() || product->bias.valid()) continue;
    if (source.ShapeOf(bias)[0] != source.ShapeOf(source[root].outputs[0]).FromEnd(1)) continue;
    product->nodes.push_back(back);
    return EmitLinear(source, *product, bias, root);
  }
  return false;
}

}  // namespace

const PatternRows& DensePatterns() {
  static const PatternRows rows = {{"Add", MatchReshapedProductWithBias}, {"Reshape", MatchReshapedProduct}};
  return rows;
}

}  // namespace vramplan
