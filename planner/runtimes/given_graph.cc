#include "planner/runtimes/given_graph.h"

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>

#include "graph/lift/liveness.h"

namespace vramplan {
namespace {

// Never folded: random numbers, and what has subgraphs (core/optimizer/constant_folding.cc).
bool IsFoldable(const Node& node) {
  static const std::set<std::string> kNot = {"RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
                                             "Multinomial",  "Bernoulli",     "Dropout",          "If",
                                             "Loop",         "Scan"};
  return kNot.count(node.op) == 0;
}

// Builds Layers node by node.
class Builder {
 public:
  Builder(const Graph& graph, const Shapes& shapes)
      : graph_(graph),
        shapes_(shapes),
        value_of_(graph.tensors.size()),
        folded_(graph.tensors.size()),
        same_as_(graph.tensors.size()) {
    layers_.modules.push_back({});
    for (const TensorId input : graph.inputs) layers_.inputs.push_back(Add(input, Role::kInput));
  }

  // A node whose inputs are all stored is computed once, when the session is made.
  bool Fold(const Node& node) {
    if (!IsFoldable(node) || node.inputs.empty()) return false;
    for (const TensorId input : node.inputs) {
      if (input.valid() && !IsStored(input)) return false;
    }
    if (node.op == "Identity" && node.outputs.size() == 1) {  // no tensor of its own: shared weights are written so
      TensorId& same = same_as_[static_cast<size_t>(node.outputs[0].value)];
      same = Original(node.inputs[0]);
    }
    for (const TensorId output : node.outputs) {
      if (output.valid()) folded_[static_cast<size_t>(output.value)] = true;
    }
    return true;
  }

  void AddLayer(NodeId id) {
    const Node& node = graph_[id];
    Layer layer;
    layer.op = node.domain.empty() || node.domain == "ai.onnx" ? node.op : node.domain + "." + node.op;
    layer.name = node.name;
    layer.attributes = node.attributes;
    layer.module = ModuleId{0};
    layer.nodes = {id};
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TensorId input = node.inputs[i];
      layer.inputs.push_back(input.valid() ? Operand(input, IsShapeOperand(node, i)) : ValueId());
    }
    for (const TensorId output : node.outputs) {
      layer.outputs.push_back(output.valid() ? Add(output, Role::kActivation) : ValueId());
    }
    layers_.layers.push_back(std::move(layer));
  }

  Layers Take() {
    for (const TensorId output : graph_.outputs) {
      const ValueId value = value_of_[static_cast<size_t>(output.value)];
      if (value.valid()) layers_.outputs.push_back(value);
    }
    // Weights in the order of the file.
    std::vector<std::pair<int32_t, ValueId>> weights;
    for (size_t t = 0; t < value_of_.size(); ++t) {
      if (value_of_[t].valid() && layers_[value_of_[t]].role == Role::kParameter)
        weights.push_back({static_cast<int32_t>(t), value_of_[t]});
    }
    for (const auto& [tensor, value] : weights) layers_.parameters.push_back(value);
    return std::move(layers_);
  }

 private:
  bool IsStored(TensorId id) const { return graph_[id].stored.has_value() || folded_[static_cast<size_t>(id.value)]; }

  TensorId Original(TensorId id) const {
    const TensorId same = same_as_[static_cast<size_t>(id.value)];
    return same.valid() ? same : id;
  }

  ValueId Operand(TensorId named, bool on_host) {
    const TensorId id = Original(named);
    if (!IsStored(id)) return Add(id, Role::kConstant);  // of a host node, unless it was made on the device before
    const ValueId value = Add(id, on_host ? Role::kConstant : Role::kParameter);
    // A kernel may read on the device what another reads on the host.
    Role& role = layers_.values[static_cast<size_t>(value.value)].role;
    if (!on_host && role == Role::kConstant) role = Role::kParameter;
    return value;
  }

  ValueId Add(TensorId id, Role role) {
    ValueId& value = value_of_[static_cast<size_t>(id.value)];
    if (value.valid()) return value;
    const TensorFacts& facts = shapes_[id];
    Value made{.name = graph_[id].name, .type = facts.type, .shape = Shape{Dim::Unknown()}, .role = role};
    if (facts.shape) made.shape = *facts.shape;
    if (const auto& stored = graph_[id].stored) {
      made.shape = Shape();
      for (const int64_t length : stored->dims) made.shape.Append(length);
      made.type = stored->type;
    }
    value = ValueId{static_cast<int32_t>(layers_.values.size())};
    layers_.values.push_back(std::move(made));
    return value;
  }

  const Graph& graph_;
  const Shapes& shapes_;
  Layers layers_;
  std::vector<ValueId> value_of_;  // by tensor
  std::vector<bool> folded_;       // by tensor
  std::vector<TensorId> same_as_;  // by tensor: the stored one whose name it is
};

}  // namespace

std::vector<NodeId> OrderOfExecution(const Graph& graph) {
  std::vector<bool> read(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      if (input.valid() && graph[input].producer.valid()) read[static_cast<size_t>(graph[input].producer.value)] = true;
    }
  }
  struct Entry {
    int32_t node;
    bool leave;
  };
  std::vector<Entry> stack;
  std::vector<bool> seen(graph.nodes.size());
  std::vector<NodeId> order;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (!read[n]) stack.push_back({static_cast<int32_t>(n), false});
  }
  while (!stack.empty()) {
    const Entry entry = stack.back();
    stack.pop_back();
    if (entry.leave) {
      order.push_back(NodeId{entry.node});
      continue;
    }
    if (seen[static_cast<size_t>(entry.node)]) continue;
    seen[static_cast<size_t>(entry.node)] = true;
    stack.push_back({entry.node, true});
    std::set<int32_t> producers;
    for (const TensorId input : graph.nodes[static_cast<size_t>(entry.node)].inputs) {
      if (input.valid() && graph[input].producer.valid()) producers.insert(graph[input].producer.value);
    }
    for (const int32_t producer : producers) {
      if (!seen[static_cast<size_t>(producer)]) stack.push_back({producer, false});
    }
  }
  return order;
}

Layers GivenGraph(const Graph& graph, const Shapes& shapes, Notes* notes) {
  const std::vector<bool> host = HostNodes(graph), live = LiveNodes(graph);
  Builder builder(graph, shapes);
  size_t subgraphs = 0;
  for (const NodeId id : OrderOfExecution(graph)) {
    const Node& node = graph[id];
    if (node.op == "Constant" || builder.Fold(node)) continue;
    const auto at = static_cast<size_t>(id.value);
    if (host[at] || !live[at]) continue;
    builder.AddLayer(id);
    subgraphs += node.op == "If" || node.op == "Loop" || node.op == "Scan" ? 1 : 0;
  }
  if (subgraphs > 0) {
    notes->Add({"subgraphs-not-followed", Severity::kWarning, graph.file,
                std::to_string(subgraphs) + " nodes have subgraphs (If, Loop, Scan); what runs inside is not counted",
                ""});
  }
  return builder.Take();
}

}  // namespace vramplan
