// onnxslim sorts nodes by their distance from the inputs. In a dynamo export without metadata (fx_names.h) whose names
// do not count up any more, each node goes back in front of what reads it first, as code is written, and behind the
// node of its operator that was counted before it:
//
//   linear, linear_1, view, view_1, add(view, view_1)   ->   linear, view, linear_1, view_1, add
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// Nodes that read no input's data: positions, rotary embeddings and masks, which models compute before their layers,
// and arithmetic of sizes, which the exporter's own passes move and merge.
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

// The exporter counts the results of each operator, and what is made in between: what was counted, by operator, in the
// order of the nodes. Views that were merged keep the name of the later one.
struct Counted {
  int64_t count;
  NodeId node;
};
std::map<std::string, std::vector<Counted>> CountedNodes(const Graph& graph, const std::vector<bool>& early) {
  std::map<std::string, std::vector<Counted>> counted;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const bool named = !node.outputs.empty() && node.outputs[0].valid() && node.name.starts_with("node_");
    if (early[n] || !named) continue;
    const std::string& name = graph[node.outputs[0]].name;
    const std::string op = name.starts_with("val_") ? "val" : FxOperatorOf(name);
    if (!op.empty() && op != "getitem") counted[op].push_back({CountOf(name), NodeId::At(n)});
  }
  return counted;
}

bool HoldsGraphs(const Node& node) {
  return std::ranges::any_of(node.attributes.all(), [](const auto& attribute) {
    return std::holds_alternative<std::shared_ptr<Graph>>(attribute.second) ||
           std::holds_alternative<std::vector<std::shared_ptr<Graph>>>(attribute.second);
  });
}

// Depth first from the outputs: behind each node what must run before it, in its order. Nothing: some node must run
// before itself.
class CallOrder {
 public:
  CallOrder(const Graph& graph, const std::vector<bool>& early) : graph_(graph), early_(early) {}

  // `before`: by node, a node that the code came to first; invalid: not known.
  std::optional<std::vector<NodeId>> Run(const std::vector<NodeId>& before) {
    order_.clear();
    state_.assign(graph_.nodes.size(), State::kNew);
    bool sound = true;
    for (size_t n = 0; n < graph_.nodes.size(); ++n) sound &= !early_[n] || Visit(NodeId::At(n), before);
    for (const TensorId output : graph_.outputs) sound &= !output.valid() || Visit(graph_[output].producer, before);
    for (size_t n = 0; n < graph_.nodes.size(); ++n) sound &= Visit(NodeId::At(n), before);  // what no output needs
    if (!sound) return std::nullopt;
    return std::move(order_);
  }

 private:
  enum class State : uint8_t { kNew, kOpen, kDone };
  struct Step {
    NodeId node;
    size_t need = 0;  // 0: the node before it; then its operands
  };

  bool Visit(NodeId first, const std::vector<NodeId>& before) {
    std::vector<Step> open;
    bool sound = true;
    const auto enter = [&](NodeId id) {
      if (!id.valid()) return;
      State& state = state_[id.index()];
      sound &= state != State::kOpen;
      if (state != State::kNew) return;
      state = State::kOpen;
      open.push_back({id});
    };
    enter(first);
    while (!open.empty()) {
      Step& step = open.back();
      const std::vector<TensorId>& operands = graph_[step.node].inputs;
      const size_t need = step.need++;
      if (need == 0) {
        enter(before[step.node.index()]);
      } else if (need <= operands.size()) {
        if (operands[need - 1].valid()) enter(graph_[operands[need - 1]].producer);
      } else {
        state_[step.node.index()] = State::kDone;
        order_.push_back(step.node);
        open.pop_back();
      }
    }
    return sound;
  }

  const Graph& graph_;
  const std::vector<bool>& early_;
  std::vector<NodeId> order_;
  std::vector<State> state_;
};

}  // namespace

std::optional<GraphState> InCallOrder(const Graph& graph, const Shapes& shapes, Notes*) {
  if (!HasFxNames(graph) || std::ranges::any_of(graph.nodes, HoldsGraphs)) return std::nullopt;
  const std::vector<bool> early = FromPositions(graph);
  std::vector<NodeId> before(graph.nodes.size());
  bool sorted = false;
  for (auto& [op, nodes] : CountedNodes(graph, early)) {
    sorted |= !std::ranges::is_sorted(nodes, {}, &Counted::count);
    std::ranges::stable_sort(nodes, {}, &Counted::count);
    for (size_t n = 1; n < nodes.size(); ++n) before[nodes[n].node.index()] = nodes[n - 1].node;
  }
  if (!sorted) return std::nullopt;
  CallOrder calls(graph, early);
  std::optional<std::vector<NodeId>> order = calls.Run(before);
  if (!order) order = calls.Run(std::vector<NodeId>(graph.nodes.size()));
  if (!order) return std::nullopt;
  GraphState result{graph, shapes, std::move(*order)};
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
