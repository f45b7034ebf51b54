#include "graph/shapes/branches.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <unordered_set>

namespace vramplan {
namespace {

const Graph* Branch(const Node& node, const char* name) {
  const auto* body = node.attributes.Get<std::shared_ptr<Graph>>(name);
  return body != nullptr ? body->get() : nullptr;
}

const Graph* Then(const Node& node) { return Branch(node, "then_branch"); }
const Graph* Else(const Node& node) { return Branch(node, "else_branch"); }

// Bytes of stored tensors that a branch holds or reads from around it, each once.
Bytes WeightsOf(const Graph& around, const Graph& branch) {
  std::set<TensorId> seen;
  Bytes bytes;
  for (const Tensor& tensor : branch.tensors) {
    const bool outer = tensor.outer.valid();
    if (outer && !seen.insert(tensor.outer).second) continue;
    const auto& stored = outer ? around[tensor.outer].stored : tensor.stored;
    if (!stored.has_value() || stored->literal) continue;
    int64_t elements = 1;
    for (const int64_t length : stored->dims) elements *= length;  // Load keeps the product within 63 bits
    bytes = bytes + StoredBytes(stored->type, elements);
  }
  return bytes;
}

// An input of the model, perhaps reshaped or cast: what is in it nobody knows before.
bool ReadsInput(const Graph& graph, TensorId condition) {
  static const std::set<std::string> kViews = {"Identity", "Cast", "Squeeze", "Unsqueeze", "Reshape", "Not", "Gather"};
  for (int steps = 0; steps < 16 && condition.valid(); ++steps) {
    const Tensor& tensor = graph[condition];
    if (tensor.stored.has_value()) return false;
    if (!tensor.producer.valid()) return true;
    const Node& node = graph[tensor.producer];
    if (kViews.count(node.op) == 0 || node.inputs.empty()) return false;
    condition = node.inputs[0];
  }
  return false;
}

// What the condition is, when that can be known.
class Conditions {
 public:
  Conditions(const Graph& graph, const BindOptions& options) : graph_(graph), options_(options) {}

  std::optional<bool> Of(TensorId condition) {
    if (!condition.valid() || ReadsInput(graph_, condition)) return std::nullopt;
    if (const auto& stored = graph_[condition].stored; stored.has_value()) {
      if (!stored->values.has_value() || stored->values->integers.size() != 1) return std::nullopt;
      return stored->values->integers[0] != 0;
    }
    if (!tried_) {
      tried_ = true;
      Notes unheard;
      if (const auto binding = Bind(graph_, options_, &unheard); binding.ok()) {
        if (auto shapes = Infer(graph_, *binding, &unheard); shapes.ok()) shapes_ = *std::move(shapes);
      }
    }
    if (!shapes_.has_value()) return std::nullopt;
    const auto& integers = (*shapes_)[condition].integers;
    if (!integers.has_value() || integers->size() != 1 || !integers->front().IsConstant()) return std::nullopt;
    return integers->front().c0() != 0;
  }

 private:
  const Graph& graph_;
  const BindOptions& options_;
  bool tried_ = false;
  std::optional<Shapes> shapes_;
};

class Inliner {
 public:
  Inliner(const Graph& graph, const BindOptions& options) : graph_(graph), options_(options), out_(graph) {
    out_.nodes.clear();
    for (const Tensor& tensor : graph.tensors) names_.insert(tensor.name);
    for (const Node& node : graph.nodes) node_names_.insert(node.name);
  }

  Graph Run(const std::map<size_t, const Graph*>& chosen) {
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const auto branch = chosen.find(n);
      if (branch == chosen.end()) {
        Put(graph_.nodes[n]);
      } else {
        PutBranch(graph_.nodes[n], *branch->second);
      }
    }
    DropInputs();
    return std::move(out_);
  }

 private:
  static std::string Fresh(std::unordered_set<std::string>* names, std::string name, const std::string& suffix) {
    while (!names->insert(name).second) name += suffix;
    return name;
  }

  void Put(Node node) {
    for (const TensorId output : node.outputs) {
      if (output.valid()) At(output).producer = NodeId{static_cast<int32_t>(out_.nodes.size())};
    }
    out_.nodes.push_back(std::move(node));
  }
  Tensor& At(TensorId id) { return out_.tensors[static_cast<size_t>(id.value)]; }

  // Graphs inside the branch read its tensors, which have other ids now.
  static AttributeValue Moved(const AttributeValue& value, const std::vector<TensorId>& ids) {
    const auto moved = [&](const std::shared_ptr<Graph>& body) {
      auto copy = std::make_shared<Graph>(*body);
      for (Tensor& tensor : copy->tensors) {
        if (tensor.outer.valid()) tensor.outer = ids[static_cast<size_t>(tensor.outer.value)];
      }
      return copy;
    };
    if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&value); body != nullptr && *body != nullptr) {
      return moved(*body);
    }
    if (const auto* bodies = std::get_if<std::vector<std::shared_ptr<Graph>>>(&value)) {
      std::vector<std::shared_ptr<Graph>> list;
      for (const auto& body : *bodies) list.push_back(body != nullptr ? moved(body) : body);
      return list;
    }
    return value;
  }

  void PutBranch(const Node& node, const Graph& branch) {
    std::vector<TensorId> ids(branch.tensors.size());
    // A result of the branch is the node's own, unless it is from outside or is given twice.
    std::vector<size_t> copied;
    for (size_t i = 0; i < branch.outputs.size() && i < node.outputs.size(); ++i) {
      const TensorId result = branch.outputs[i];
      if (!node.outputs[i].valid() || !result.valid()) continue;
      TensorId& id = ids[static_cast<size_t>(result.value)];
      if (branch[result].producer.valid() && !branch[result].stored.has_value() && !id.valid()) {
        id = node.outputs[i];
        At(id).declared = branch[result].declared;
      } else {
        copied.push_back(i);
      }
    }
    for (size_t t = 0; t < branch.tensors.size(); ++t) {
      const Tensor& tensor = branch.tensors[t];
      if (ids[t].valid()) continue;
      if (tensor.outer.valid()) {
        ids[t] = tensor.outer;
        continue;
      }
      ids[t] = TensorId{static_cast<int32_t>(out_.tensors.size())};
      out_.tensors.push_back(tensor);
      out_.tensors.back().producer = {};
      out_.tensors.back().name = Fresh(&names_, tensor.name, "_" + node.name);
    }
    const auto id_of = [&](TensorId id) { return id.valid() ? ids[static_cast<size_t>(id.value)] : id; };
    for (const Node& inner : branch.nodes) {
      Node moved = inner;
      moved.name = Fresh(&node_names_, inner.name, "_" + node.name);
      for (TensorId& id : moved.inputs) id = id_of(id);
      for (TensorId& id : moved.outputs) id = id_of(id);
      moved.attributes = {};
      for (const auto& [name, value] : inner.attributes.all()) moved.attributes.Set(name, Moved(value, ids));
      Put(std::move(moved));
    }
    for (const size_t i : copied) {
      Node identity{.name = Fresh(&node_names_, node.name + "_output", "_"), .op = "Identity"};
      identity.inputs = {id_of(branch.outputs[i])};
      identity.outputs = {node.outputs[i]};
      Put(std::move(identity));
    }
  }

  static void MarkRead(const Graph& graph, std::vector<bool>* read) {
    for (const Node& node : graph.nodes) {
      for (const TensorId input : node.inputs) {
        if (input.valid()) (*read)[static_cast<size_t>(input.value)] = true;
      }
      for (const auto& [name, value] : node.attributes.all()) {
        const auto* body = std::get_if<std::shared_ptr<Graph>>(&value);
        if (body == nullptr || *body == nullptr) continue;
        for (const Tensor& tensor : (*body)->tensors) {
          if (tensor.outer.valid()) (*read)[static_cast<size_t>(tensor.outer.value)] = true;
        }
      }
    }
    for (const TensorId output : graph.outputs) (*read)[static_cast<size_t>(output.value)] = true;
  }

  // The user speaks of the input or of one of its dims: it stays, so that they are understood.
  bool IsMeant(TensorId input) const {
    const Tensor& tensor = graph_[input];
    if (options_.inputs.count(tensor.name) != 0) return true;
    if (!tensor.declared.has_value() || !tensor.declared->dims.has_value()) return false;
    return std::any_of(tensor.declared->dims->begin(), tensor.declared->dims->end(),
                       [&](const DeclaredDim& dim) { return options_.dims.count(dim.symbol) != 0; });
  }

  void DropInputs() {
    std::vector<bool> before(graph_.tensors.size()), after(out_.tensors.size());
    MarkRead(graph_, &before);
    MarkRead(out_, &after);
    std::erase_if(out_.inputs, [&](TensorId input) {
      const auto index = static_cast<size_t>(input.value);
      return before[index] && !after[index] && !IsMeant(input);
    });
  }

  const Graph& graph_;
  const BindOptions& options_;
  Graph out_;
  std::unordered_set<std::string> names_, node_names_;
};

}  // namespace

std::optional<Graph> WithoutBranches(const Graph& graph, const BindOptions& options, Notes* notes) {
  std::optional<Graph> result;
  // A branch may hold branches; deeper ones stay.
  constexpr int kMaxDepth = 8;
  for (int depth = 0; depth < kMaxDepth; ++depth) {
    const Graph& now = result.has_value() ? *result : graph;
    Conditions conditions(now, options);
    std::map<size_t, const Graph*> chosen;
    for (size_t n = 0; n < now.nodes.size(); ++n) {
      const Node& node = now.nodes[n];
      if (node.op != "If" || !node.domain.empty() || node.inputs.empty()) continue;
      const Graph *yes = Then(node), *no = Else(node);
      if (yes == nullptr || no == nullptr) continue;
      const std::optional<bool> known = conditions.Of(node.inputs[0]);
      const Bytes yes_bytes = WeightsOf(now, *yes), no_bytes = WeightsOf(now, *no);
      const bool larger = yes_bytes != no_bytes ? yes_bytes > no_bytes : yes->nodes.size() >= no->nodes.size();
      chosen[n] = known.value_or(larger) ? yes : no;
      if (known.has_value()) continue;
      notes->Add({.code = "larger-branch",
                  .severity = Severity::kNote,
                  .subject = node.name,
                  .text = std::string("its ") + (larger ? "then_branch" : "else_branch") +
                          " is counted, because it reads more weights or does more than the other (" +
                          ToString(std::max(yes_bytes, no_bytes)) + " and " + ToString(std::min(yes_bytes, no_bytes)) +
                          ")",
                  .hint = ""});
    }
    if (chosen.empty()) break;
    result = Inliner(now, options).Run(chosen);
  }
  return result;
}

}  // namespace vramplan
