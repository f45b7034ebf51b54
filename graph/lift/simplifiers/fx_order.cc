// onnxslim sorts nodes by their distance from the inputs. In a dynamo export without metadata (fx_names.h) whose names
// do not count up any more, each node goes back in front of what reads it first, as code is written:
//
//   linear, linear_1, view, view_1, add(view, view_1)   ->   linear, view, linear_1, view_1, add
#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "graph/lift/dynamo/without_node.h"
#include "graph/lift/simplifiers/fx_names.h"
#include "graph/lift/simplifiers/passes.h"

namespace vramplan {
namespace {

// The count behind a name: 12 of "view_12", 0 of "view".
int64_t CountOf(const std::string& name) {
  const std::string op = OperatorOf(name);
  const size_t digits = name.size() - op.size();
  return digits < 2 || digits > 10 ? 0 : std::stoll(name.substr(op.size() + 1));
}

// The exporter counts the results of each operator, and what is made in between.
bool CountsUp(const Graph& graph) {
  std::map<std::string, int64_t> last;
  for (const Node& node : graph.nodes) {
    if (node.outputs.empty() || !node.outputs[0].valid() || !node.name.starts_with("node_")) continue;
    const std::string& name = graph[node.outputs[0]].name;
    const std::string op = name.starts_with("val_") ? "val" : FxOperatorOf(name);
    // Views that were merged keep the name of the later one.
    if (op.empty() || op == "getitem") continue;
    const int64_t count = CountOf(name);
    const auto [found, fresh] = last.try_emplace(op, count);
    if (!fresh && count < found->second) return false;
    found->second = count;
  }
  return true;
}

bool HoldsGraphs(const Node& node) {
  return std::ranges::any_of(node.attributes.all(), [](const auto& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.second) ||
           std::holds_alternative<std::vector<std::shared_ptr<Graph>>>(attribute.second);
  });
}

// Nodes that read no input's data: positions, rotary embeddings and masks, which models compute before their layers.
std::vector<bool> FromPositions(const Graph& graph) {
  std::vector<bool> result(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    result[n] = std::ranges::all_of(node.inputs, [&](TensorId input) {
      if (!input.valid() || graph[input].stored.has_value()) return true;
      const NodeId maker = graph[input].producer;
      return maker.valid() ? static_cast<bool>(result[maker.index()]) : node.op == "Shape";
    });
  }
  return result;
}

// Depth first from the outputs, operands in their order.
std::vector<NodeId> OrderOfCalls(const Graph& graph) {
  std::vector<NodeId> order;
  std::vector<bool> seen(graph.nodes.size());
  struct Step {
    NodeId node;
    size_t input = 0;
  };
  std::vector<Step> open;
  const auto visit = [&](NodeId id) {
    if (!id.valid() || seen[id.index()]) return;
    seen[id.index()] = true;
    open.push_back({id});
  };
  const auto finish = [&] {
    while (!open.empty()) {
      Step& step = open.back();
      const Node& node = graph[step.node];
      if (step.input == node.inputs.size()) {
        order.push_back(step.node);
        open.pop_back();
        continue;
      }
      const TensorId input = node.inputs[step.input++];
      if (input.valid()) visit(graph[input].producer);
    }
  };
  const std::vector<bool> early = FromPositions(graph);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    if (early[n]) visit(NodeId::At(n));
    finish();
  }
  for (const TensorId output : graph.outputs) {
    if (output.valid()) visit(graph[output].producer);
    finish();
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {  // what no output needs
    visit(NodeId::At(n));
    finish();
  }
  return order;
}

}  // namespace

std::optional<GraphState> InCallOrder(const Graph& graph, const Shapes& shapes, Notes*) {
  if (!HasFxNames(graph) || CountsUp(graph)) return std::nullopt;
  if (std::ranges::any_of(graph.nodes, HoldsGraphs)) return std::nullopt;
  GraphState result{graph, shapes, OrderOfCalls(graph)};
  for (size_t n = 0; n < result.given.size(); ++n) {
    Node& node = result.graph.nodes[n];
    node = graph[result.given[n]];
    for (const TensorId output : node.outputs) {
      if (output.valid()) {
        result.graph.tensors[output.index()].producer = NodeId::At(n);
      }
    }
  }
  return result;
}

}  // namespace vramplan
