#include "tests/support/graph_invariants.h"

#include <algorithm>
#include <set>

#include "graph/ir/shape.h"

namespace vramplan {
namespace {

std::string BrokenTensor(const Tensor& tensor) {
  if (tensor.stored) {
    const StoredTensor& stored = *tensor.stored;
    if (stored.type == DType::kUndefined) return "a stored tensor without a type";
    if (stored.dims.size() > static_cast<size_t>(Shape::kMaxRank)) return "a stored tensor with too many axes";
    Dim elements(1);
    for (const int64_t dim : stored.dims) {
      if (dim < 0) return "a stored tensor with a negative length";
      elements = elements * Dim(dim);
    }
    if (!elements.known()) return "a stored tensor whose elements overflow";
    if (stored.values) {
      const bool complex = stored.type == DType::kComplex64 || stored.type == DType::kComplex128;
      const auto numbers = static_cast<int64_t>(stored.values->integers.size() + stored.values->reals.size());
      if (numbers != elements.c0() * (complex ? 2 : 1)) return "values that do not fill the shape";
      if (elements.c0() > ConstantValues::kMaxElements) return "values of a large tensor";
    }
  }
  if (tensor.declared && tensor.declared->dims) {
    if (tensor.declared->dims->size() > static_cast<size_t>(Shape::kMaxRank))
      return "a declared type with too many axes";
    for (const DeclaredDim& dim : *tensor.declared->dims) {
      if (dim.length && *dim.length < 0) return "a declared negative length";
    }
  }
  return "";
}

std::string Broken(const Graph& graph, const Graph* outer) {
  const auto in_range = [](TensorId id, const Graph& g) {
    return id.valid() && id.value < static_cast<int32_t>(g.tensors.size());
  };
  std::set<std::string> names;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.name.empty()) return "a tensor without a name";
    if (std::any_of(tensor.name.begin(), tensor.name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }))
      return "a name with control characters";
    if (!names.insert(tensor.name).second) return "two tensors called " + tensor.name;
    if (tensor.producer.value >= static_cast<int32_t>(graph.nodes.size())) return "a producer out of range";
    if (tensor.producer.valid() && tensor.stored) return "a stored tensor with a producer";
    if (tensor.outer.valid() && (outer == nullptr || !in_range(tensor.outer, *outer)))
      return "an outer tensor out of range";
    if (tensor.outer.valid() && (tensor.producer.valid() || tensor.stored))
      return "a tensor from outside that is made inside";
    if (std::string broken = BrokenTensor(tensor); !broken.empty()) return tensor.name + ": " + broken;
  }
  std::set<std::string> node_names;
  std::vector<bool> made(graph.tensors.size(), true);
  for (size_t i = 0; i < made.size(); ++i) made[i] = !graph.tensors[i].producer.valid();
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    if (node.name.empty() || node.op.empty()) return "a node without a name or an operator";
    if (!node_names.insert(node.name).second) return "two nodes called " + node.name;
    for (const TensorId id : node.inputs) {
      if (!id.valid()) continue;
      if (!in_range(id, graph)) return node.name + ": an input out of range";
      if (!made[static_cast<size_t>(id.value)]) return node.name + " reads what is not made yet";
    }
    for (const auto& [name, value] : node.attributes.all()) {
      std::vector<std::shared_ptr<Graph>> subgraphs;
      if (const auto* one = std::get_if<std::shared_ptr<Graph>>(&value)) subgraphs = {*one};
      if (const auto* several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&value)) subgraphs = *several;
      for (const auto& subgraph : subgraphs) {
        if (std::string broken = Broken(*subgraph, &graph); !broken.empty())
          return node.name + "." + name + ": " + broken;
        for (const Tensor& tensor : subgraph->tensors) {
          if (tensor.outer.valid() && !made[static_cast<size_t>(tensor.outer.value)])
            return node.name + " captures what is not made yet";
        }
      }
    }
    for (const TensorId id : node.outputs) {
      if (!id.valid()) continue;
      if (!in_range(id, graph)) return node.name + ": an output out of range";
      if (graph[id].producer != NodeId{static_cast<int32_t>(i)})
        return node.name + " is not the producer of its output";
      made[static_cast<size_t>(id.value)] = true;
    }
  }
  for (const TensorId id : graph.inputs) {
    if (!in_range(id, graph) || graph[id].producer.valid() || graph[id].stored) return "an input that is not one";
  }
  for (const TensorId id : graph.outputs) {
    if (!in_range(id, graph)) return "an output out of range";
  }
  return "";
}

}  // namespace

std::string BrokenInvariant(const Graph& graph) { return Broken(graph, nullptr); }

}  // namespace vramplan
