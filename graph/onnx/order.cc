#include "graph/onnx/order.h"

#include <algorithm>
#include <functional>
#include <queue>

#include "graph/onnx/names.h"

namespace vramplan {
namespace {

// Calls visit(tensor) for each input of the node, and for each tensor of this graph that its subgraphs read.
template <typename Visit>
void ForEachRead(const Node& node, const Visit& visit) {
  for (const TensorId input : node.inputs) {
    if (input.valid()) visit(input);
  }
  const auto captured = [&](const std::shared_ptr<Graph>& subgraph) {
    for (const Tensor& tensor : subgraph->tensors) {
      if (tensor.outer.valid()) visit(tensor.outer);
    }
  };
  for (const auto& [name, value] : node.attributes.all()) {
    if (const auto* one = std::get_if<std::shared_ptr<Graph>>(&value)) captured(*one);
    if (const auto* several = std::get_if<std::vector<std::shared_ptr<Graph>>>(&value))
      std::for_each(several->begin(), several->end(), captured);
  }
}

bool InOrder(const Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    bool ready = true;
    ForEachRead(graph.nodes[i],
                [&](TensorId read) { ready = ready && graph[read].producer.value < static_cast<int32_t>(i); });
    if (!ready) return false;
  }
  return true;
}

// Every unplaced node waits for an unplaced node: walking back along those ends on a cycle.
Error CycleError(const Graph& graph, const std::vector<int32_t>& waiting) {
  const auto blocker = [&](int32_t node) {
    int32_t found = -1;
    ForEachRead(graph.nodes[static_cast<size_t>(node)], [&](TensorId read) {
      const int32_t producer = graph[read].producer.value;
      if (found < 0 && producer >= 0 && waiting[static_cast<size_t>(producer)] > 0) found = producer;
    });
    return found;
  };
  auto node = static_cast<int32_t>(std::find_if(waiting.begin(), waiting.end(), [](int32_t n) { return n > 0; }) -
                                   waiting.begin());
  std::vector<bool> seen(graph.nodes.size());
  while (!seen[static_cast<size_t>(node)]) {
    seen[static_cast<size_t>(node)] = true;
    node = blocker(node);
  }
  return {ErrorCode::kBadInput, "",
          "the graph has a cycle: node " + QuotedName(graph.nodes[static_cast<size_t>(node)].name) +
              " waits for its own output",
          "export it again; ONNX graphs have no cycles (loops are Loop and Scan nodes)"};
}

}  // namespace

Status SortNodes(Graph* graph) {
  if (InOrder(*graph)) return Done{};
  const size_t count = graph->nodes.size();
  std::vector<int32_t> waiting(count, 0);            // how many reads of a node are not made yet
  std::vector<std::vector<int32_t>> readers(count);  // of a node's outputs, once a read
  for (size_t i = 0; i < count; ++i) {
    ForEachRead(graph->nodes[i], [&](TensorId read) {
      const NodeId producer = (*graph)[read].producer;
      if (!producer.valid()) return;
      readers[static_cast<size_t>(producer.value)].push_back(static_cast<int32_t>(i));
      ++waiting[i];
    });
  }
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    if (waiting[i] == 0) ready.push(static_cast<int32_t>(i));
  }
  std::vector<Node> sorted;
  std::vector<int32_t> place(count, -1);
  std::vector<int32_t> order;
  while (!ready.empty()) {
    const int32_t node = ready.top();
    ready.pop();
    place[static_cast<size_t>(node)] = static_cast<int32_t>(order.size());
    order.push_back(node);
    for (const int32_t reader : readers[static_cast<size_t>(node)]) {
      if (--waiting[static_cast<size_t>(reader)] == 0) ready.push(reader);
    }
  }
  if (order.size() != count) return CycleError(*graph, waiting);
  sorted.reserve(count);
  for (const int32_t node : order) sorted.push_back(std::move(graph->nodes[static_cast<size_t>(node)]));
  graph->nodes = std::move(sorted);
  for (Tensor& tensor : graph->tensors) {
    if (tensor.producer.valid()) tensor.producer.value = place[static_cast<size_t>(tensor.producer.value)];
  }
  return Done{};
}

}  // namespace vramplan
