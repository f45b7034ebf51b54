// Stored fills: weights that a file makes of a number instead of storing them, to be small.
//
//   ConstantOfShape([64, 3, 7, 7]) -> Conv's weight      the "light" models of ONNX's own tests
//
// PyTorch's torch.zeros(2, 3) is the same node and no weight.
#include "graph/lift/simplifiers/passes.h"

namespace vramplan {
namespace {

// A floating tensor of several elements and of lengths that stand in the file.
bool IsWeight(const Graph& graph, const Shapes& shapes, const Node& node) {
  if (node.op != "ConstantOfShape" || node.inputs.size() != 1 || node.outputs.size() != 1) return false;
  if (!graph.IsStored(node.inputs[0])) return false;
  const TensorFacts& facts = shapes[node.outputs[0]];
  return IsFloating(facts.type) && facts.shape && facts.shape->rank() > 0 && facts.shape->Elements().IsConstant() &&
         facts.shape->Elements().c0() > 1;
}

}  // namespace

std::optional<GraphState> StoreFills(const Graph& graph, const Shapes& shapes, Notes*) {
  if (graph.producer.find("pytorch") != std::string::npos) return std::nullopt;
  std::optional<GraphState> filled;
  for (const Node& node : graph.nodes) {
    if (!IsWeight(graph, shapes, node)) continue;
    if (!filled) filled = GraphState{graph, shapes};
    const TensorFacts& facts = shapes[node.outputs[0]];
    StoredTensor stored{.type = facts.type, .external = true};
    for (const Dim& d : *facts.shape) stored.dims.push_back(d.c0());
    Tensor& tensor = filled->graph.tensors[node.outputs[0].index()];
    tensor.stored = std::move(stored);
    tensor.producer = NodeId{};
  }
  return filled;
}

}  // namespace vramplan
