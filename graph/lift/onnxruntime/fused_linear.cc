#include "graph/lift/onnxruntime/fused_linear.h"

#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

// The input of a product, turned where the optimizer took a Transpose into it.
Operand LeftSide(PatternSource& source, NodeId product) {
  const TensorId left = source.In(product, 0);
  if (source[product].attributes.Int("transA", 0) == 0) return source.Use(left);
  Shape shape = source.ShapeOf(left);
  const int rank = shape.rank();
  std::swap(shape[rank - 1], shape[rank - 2]);
  return FusedParts(source, product)
      .Make("transpose", shape, {source.Use(left)}, Named({{"dim0", rank - 2}, {"dim1", rank - 1}}));
}

}  // namespace

bool AddLinearBehind(PatternSource& source, TensorId product, Operand bias, NodeId user, Operand sum) {
  NodeId node = source.OnlyMakerOf(product, "MatMul");
  if (!node.valid()) node = source.OnlyMakerOf(product, "FusedMatMul");
  if (!node.valid()) return false;
  const Attributes& attributes = source[node].attributes;
  const TensorId weight = source.In(node, 1);
  if (source.Stored(weight) == nullptr || !source.IsInitializer(weight) || source.RankOf(weight) != 2) return false;
  if (attributes.Real("alpha", 1) != 1 || attributes.Int("transBatchA", 0) != 0) return false;
  if (attributes.Int("transA", 0) != 0 && source.RankOf(source.In(node, 0)) < 2) return false;
  const Shape stored = source.ShapeOf(weight);
  const Shape turned{stored[1], stored[0]};
  const bool is_turned = attributes.Int("transB", 0) != 0;
  std::vector<NodeId> nodes = {node};
  if (user != node) nodes.insert(nodes.begin(), user);
  source.Add(
      {.op = "linear",
       .inputs = {LeftSide(source, node),
                  source.Parameter(weight, node, "weight", is_turned ? std::nullopt : std::optional(turned)), bias},
       .outputs = {sum},
       .attributes = {},
       .nodes = std::move(nodes),
       .position = node,
       .path = {}});
  return true;
}

void AddBias(PatternSource& source, TensorId product, TensorId bias, NodeId user, Operand sum) {
  const Operand stored = source.Parameter(bias, user, "bias");
  if (AddLinearBehind(source, product, stored, user, sum)) return;
  source.Put(sum, "add", {source.Use(product), stored}, {user});
}

}  // namespace vramplan
