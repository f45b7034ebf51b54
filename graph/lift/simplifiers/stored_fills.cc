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
  if (!node.inputs[0].valid() || !graph[node.inputs[0]].stored.has_value()) return false;
  const TensorFacts& facts = shapes[node.outputs[0]];
  return IsFloating(facts.type) && facts.shape && facts.shape->rank() > 0 && facts.shape->Elements().IsConstant() &&
         facts.shape->Elements().c0() > 1;
}

}  // namespace

std::optional<Graph> StoreFills(const Graph& graph, const Shapes& shapes) {
  if (graph.producer.find("pytorch") != std::string::npos) return std::nullopt;
  std::optional<Graph> filled;
  for (const Node& node : graph.nodes) {
    if (!IsWeight(graph, shapes, node)) continue;
    if (!filled) filled = graph;
    const TensorFacts& facts = shapes[node.outputs[0]];
    StoredTensor stored{.type = facts.type, .external = true};
    for (const Dim& d : *facts.shape) stored.dims.push_back(d.c0());
    Tensor& tensor = filled->tensors[static_cast<size_t>(node.outputs[0].value)];
    tensor.stored = std::move(stored);
    tensor.producer = NodeId{};
  }
  return filled;
}

}  // namespace vramplan
