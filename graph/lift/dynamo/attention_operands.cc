#include "graph/lift/dynamo/attention_operands.h"

#include <string_view>
#include <utility>

#include "graph/base/text.h"
#include "graph/lift/dynamo/without_node.h"

namespace vramplan {
namespace {

class Decomposition {
 public:
  Decomposition(const Graph& graph, const std::vector<NodeId>& nodes) : graph_(graph), nodes_(nodes) {}

  std::array<TensorId, 4> Operands() const {
    const Node* softmax = First("Softmax");
    if (softmax == nullptr) return {};
    // Towards the scores: a mask is the other operand of an Add or Where on the way.
    TensorId mask, scores = softmax->inputs[0];
    const Node* product = Inside(scores);
    while (product != nullptr && product->op != "MatMul") {
      if (product->inputs.empty()) return {};
      TensorId next = product->inputs[0];
      for (const TensorId input : product->inputs) {
        if (product->op == "Add" && !LeadsToProduct(input)) mask = Outside(input);
        if (LeadsToProduct(input)) next = input;
      }
      product = Inside(next);
    }
    if (product == nullptr || product->inputs.size() < 2) return {};
    // The last product of the group reads the probabilities.
    const Node* last = nullptr;
    for (const NodeId id : nodes_) {
      if (graph_[id].op == "MatMul" && &graph_[id] != product) last = &graph_[id];
    }
    if (last == nullptr) return {};
    return {Outside(product->inputs[0]), Outside(product->inputs[1]), Outside(last->inputs[1]), Condition(mask)};
  }

 private:
  const Node* First(std::string_view op) const {
    for (const NodeId id : nodes_) {
      if (graph_[id].op == op) return &graph_[id];
    }
    return nullptr;
  }
  // The node of the group that makes a tensor; null: it comes from outside.
  const Node* Inside(TensorId tensor) const {
    const NodeId maker = graph_.MakerOf(tensor);
    if (!maker.valid() || !Contains(nodes_, maker)) return nullptr;
    return &graph_[maker];
  }
  bool LeadsToProduct(TensorId tensor) const {
    const Node* node = Inside(tensor);
    for (int steps = 0; node != nullptr && steps < kDeepest; ++steps) {
      if (node->op == "MatMul") return true;
      node = node->inputs.empty() ? nullptr : Inside(node->inputs[0]);
    }
    return false;
  }
  // What a tensor of the group was made from: views and scales have their data first.
  TensorId Outside(TensorId tensor) const {
    for (int steps = 0; steps < kDeepest; ++steps) {
      const Node* node = Inside(tensor);
      if (node == nullptr || node->inputs.empty()) return tensor;
      tensor = node->inputs[0];
    }
    return {};
  }

  // Equal masks of several calls are turned into numbers once, in the first call's group: Where(mask, 0, -inf).
  TensorId Condition(TensorId mask) const {
    const NodeId maker = graph_.MakerOf(mask);
    if (!maker.valid() || graph_[maker].op != "Where" || graph_[maker].inputs.size() != 3) return mask;
    const auto is_number = [&](TensorId tensor) {
      const auto& stored = graph_[tensor].stored;
      return stored.has_value() && stored->dims.empty();
    };
    return is_number(graph_[maker].inputs[1]) && is_number(graph_[maker].inputs[2]) ? graph_[maker].inputs[0] : mask;
  }

  static constexpr int kDeepest = 32;
  const Graph& graph_;
  const std::vector<NodeId>& nodes_;
};

}  // namespace

std::array<TensorId, 4> AttentionOperands(const Graph& graph, const std::vector<NodeId>& nodes) {
  return Decomposition(graph, nodes).Operands();
}

ValueId LiftViewAsHeads(const std::string& name, ValueId source, const Shape& call, const FxSite& at) {
  const std::string op = OperatorOf(name);
  if (!source.valid() || (op != "view" && op != "reshape")) return {};
  Value heads = at.builder.At(source);
  if (heads.shape.rank() != 3 || call.rank() != 4) return {};
  const Dim elements = heads.shape.Elements();
  heads.shape = Shape{call[0], call[1], heads.shape[1], heads.shape[2]};
  if (heads.shape.Elements() != elements) return {};
  heads.name = name;
  heads.role = Role::kActivation;
  return at.builder.Make(std::move(heads), "reshape", {source}, at.user.path, at.user.last());
}

}  // namespace vramplan
