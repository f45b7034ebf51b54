// Merged stored tensors. Simplifiers (onnxsim, onnxslim, ONNX Runtime, tf2onnx) keep one of all stored tensors with
// equal contents; in a model that was exported before it was trained, those are the ones and zeros that norms and
// biases start with:
//
//   BatchNormalization(x, w, b, b, w)     scale w, shift b, mean b, variance w
//   BatchNormalization(y, w, b, b, w)     2 stored tensors for 4 parameters and 4 buffers
//
// A parameter is no buffer, and a bias belongs to one weight: what serves two of them was merged.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/text.h"
#include "graph/lift/simplifiers/passes.h"
#include "graph/lift/torchscript/patterns_modules.h"

namespace vramplan {
namespace {

// What an operator takes from its module, from input `first` on.
struct Owned {
  size_t first;
  std::vector<const char*> leaves;
};
const std::map<std::string_view, Owned>& OwnedTable() {
  static const std::map<std::string_view, Owned> table = [] {
    const std::pair<std::string_view, Owned> rows[] = {
        {"BatchNormalization", {1, {"weight", "bias", "running_mean", "running_var"}}},
        {"InstanceNormalization GroupNormalization LayerNormalization", {1, {"weight", "bias"}}},
        {"Conv FusedConv ConvTranspose Gemm FusedGemm", {1, {"weight", "bias"}}},
        {"RMSNormalization SimplifiedLayerNormalization MatMul", {1, {"weight"}}},
        {"SkipLayerNormalization", {2, {"weight", "bias"}}},
        {"SkipSimplifiedLayerNormalization", {2, {"weight"}}},
        {"EmbedLayerNormalization", {5, {"weight", "bias"}}}};
    std::map<std::string_view, Owned> owned;
    for (const auto& [ops, what] : rows) {
      for (const std::string_view op : TextsIn(ops, ' ')) owned.emplace(op, what);
    }
    return owned;
  }();
  return table;
}

// One use of a stored tensor by a module.
struct StoredUse {
  NodeId node;
  size_t input = 0;
  std::string leaf;         // "bias"
  std::string kind;         // "LayerNormalization"; of a sum behind a product, the product's
  std::string module;       // path; empty when the file does not say
  bool module_read = true;  // from the node's own name, not from that of a view of its result
  TensorId partner;         // the weight beside a bias, or behind a norm
  // Whose it is: the module's; else that of the weight beside it; else of this call alone.
  std::string Home() const {
    std::string home = kind + "." + leaf;
    if (!module.empty()) home += "/" + module;
    if (!module.empty() && module_read) return home;
    if (partner.valid()) return home + "@" + std::to_string(partner.value);
    return module.empty() ? home + "#" + std::to_string(node.value) : home;
  }
};

// Products of matrices are of one kind, however a tool wrote them.
std::string KindOfUse(const Node& node) {
  return IsOneOf(node.op, {"MatMul", "FusedGemm", "FusedMatMul"}) ? "Gemm" : node.op;
}

class Separator {
 public:
  Separator(const Graph& graph, const Shapes& shapes) : graph_(graph), shapes_(shapes), modules_(graph) {}

  std::optional<GraphState> Run(Notes* notes) {
    CollectUses();
    std::set<TensorId> merged;
    for (const auto& [tensor, uses] : uses_) {
      if (IsMerged(tensor, uses)) merged.insert(tensor);
    }
    if (merged.empty()) return std::nullopt;
    for (const Tensor& tensor : graph_.tensors) names_.insert(tensor.name);
    // The tool merges by contents: with that known, layers that were copies of each other, and norms of which the file
    // does not say the module, are apart, too.
    for (const auto& [tensor, uses] : uses_) {
      if (AreCopies(tensor, uses)) merged.insert(tensor);
    }
    GraphState apart{graph_, shapes_, {}};
    int64_t made = 0;
    for (const TensorId tensor : merged) made += Separate(tensor, &apart);
    notes->Add({.code = "merged-tensors",
                .subject = graph_.file,
                .text = std::to_string(merged.size()) + " stored tensors serve several modules, as tools merge equal " +
                        "contents; each module gets its own again, " + std::to_string(made) + " more"});
    return apart;
  }

 private:
  bool IsVector(TensorId tensor) const {
    const auto& stored = graph_[tensor].stored;
    return stored && !stored->literal && IsFloating(stored->type) && stored->dims.size() == 1 && stored->dims[0] > 1;
  }
  bool IsMatrix(TensorId tensor) const {
    const auto& stored = graph_[tensor].stored;
    return stored && !stored->literal && IsFloating(stored->type) && stored->dims.size() > 1;
  }
  const Node* MakerOf(TensorId tensor) const {
    const NodeId maker = graph_.MakerOf(tensor);
    return maker.valid() ? &graph_[maker] : nullptr;
  }
  TensorId WeightOf(const Node& product) const {
    const Node* turned = MakerOf(product.inputs[1]);
    return turned != nullptr && turned->op == "Transpose" ? turned->inputs[0] : product.inputs[1];
  }
  // Where a simplifier made the node, the name of its result may say it, or that of what it hands its result to.
  void FindModule(StoredUse* use) const {
    const Node& node = graph_[use->node];
    const auto is_path = [&](TensorId tensor) { return tensor.valid() && graph_[tensor].name.starts_with('/'); };
    NodeId named = use->node;
    if (node.name.find('/') == std::string::npos && !is_path(node.outputs[0])) {
      const auto reader = view_of_.find(node.outputs[0]);
      if (reader == view_of_.end() || !is_path(graph_[reader->second].outputs[0])) return;
      named = reader->second;
      use->module_read = false;
    }
    use->module = modules_.InnermostOf(named);
  }

  void CollectUses() {
    for (size_t n = graph_.nodes.size(); n-- > 0;) {
      const Node& node = graph_.nodes[n];
      if (node.op == "Reshape") view_of_[node.inputs[0]] = NodeId::At(n);
      if (node.op != "MatMul" && node.op != "Gemm" && node.op != "Conv") continue;
      if (!node.inputs.empty()) first_reader_[node.inputs[0]] = NodeId::At(n);
    }
    for (size_t n = 0; n < graph_.nodes.size(); ++n) {
      const Node& node = graph_.nodes[n];
      const NodeId id = NodeId::At(n);
      CollectBiases(node, id);
      const auto row = OwnedTable().find(node.op);
      if (row == OwnedTable().end()) continue;
      const Node* before = node.inputs.empty() ? nullptr : MakerOf(node.inputs[0]);
      // A group norm in disguise: its ones and zeros are the exporter's.
      if (node.op == "InstanceNormalization" && before != nullptr && before->op == "Reshape") continue;
      for (size_t i = 0; i < row->second.leaves.size(); ++i) {
        const size_t input = row->second.first + i;
        if (input >= node.inputs.size() || !node.inputs[input].valid()) continue;
        const TensorId tensor = node.inputs[input];
        if (!IsVector(tensor) && !(i == 0 && IsMatrix(tensor))) continue;
        StoredUse use{.node = id, .input = input, .leaf = row->second.leaves[i], .kind = KindOfUse(node)};
        FindModule(&use);
        if (IsVector(tensor) && i == 1 && IsMatrix(node.inputs[input - 1])) {
          use.partner = node.inputs[input - 1];
        } else if (IsVector(tensor) && use.module.empty()) {
          use.partner = Neighbour(node);
        }
        uses_[tensor].push_back(std::move(use));
      }
    }
  }

  // A norm without a scope: the matrix of the first layer that takes its result. A norm that is called several times
  // hands on to a layer that is called as often.
  TensorId Neighbour(const Node& node) const {
    const auto reader = first_reader_.find(node.outputs[0]);
    if (reader == first_reader_.end()) return {};
    const Node& next = graph_[reader->second];
    if (next.op != "MatMul" && next.op != "Gemm" && next.op != "Conv") return {};
    const TensorId weight = WeightOf(next);
    return IsMatrix(weight) ? weight : TensorId{};
  }

  // Add(MatMul(x, weight), bias), perhaps with the product reshaped; the fused operators that took the addition in.
  void CollectBiases(const Node& node, NodeId id) {
    if (node.op == "Add" && node.inputs.size() == 2) {
      CollectBias(node, id, 0, 1);
      CollectBias(node, id, 1, 0);
    } else if (node.op == "BiasGelu" || node.op == "FastGelu") {
      CollectBias(node, id, 1, 0);
    } else if (node.op == "SkipLayerNormalization") {
      CollectBias(node, id, 4, 0);
    } else if (node.op == "SkipSimplifiedLayerNormalization") {
      CollectBias(node, id, 3, 0);
    }
  }

  void CollectBias(const Node& node, NodeId id, size_t bias, size_t sum) {
    if (bias >= node.inputs.size() || !node.inputs[bias].valid() || !IsVector(node.inputs[bias])) return;
    const Node* product = MakerOf(node.inputs[sum]);
    if (product != nullptr && product->op == "Reshape") product = MakerOf(product->inputs[0]);
    if (product == nullptr || (product->op != "MatMul" && product->op != "FusedMatMul")) return;
    const TensorId weight = WeightOf(*product);
    if (!IsMatrix(weight)) return;
    StoredUse use{.node = id, .input = bias, .leaf = "bias", .kind = KindOfUse(*product)};
    FindModule(&use);
    use.partner = weight;
    uses_[node.inputs[bias]].push_back(std::move(use));
  }

  bool IsMerged(TensorId tensor, const std::vector<StoredUse>& uses) const {
    if (!IsVector(tensor)) return false;
    std::set<std::string> leaves, modules;
    std::set<TensorId> partners;
    for (const StoredUse& use : uses) {
      leaves.insert(use.kind + use.leaf);
      if (use.partner.valid()) partners.insert(use.partner);
      if (!use.partner.valid() && !use.module.empty()) modules.insert(use.module);
    }
    return leaves.size() > 1 || partners.size() > 1 || modules.size() > 1;
  }

  // Layers that are copies of each other have paths that differ in their numbers alone: layers.0.fc, layers.1.fc.
  bool AreCopies(TensorId tensor, const std::vector<StoredUse>& uses) const {
    if (uses.size() < 2) return false;
    if (IsVector(tensor) && !uses[0].partner.valid() && uses[0].module.empty()) return true;
    return std::ranges::all_of(uses, [&](const StoredUse& use) {
      return !use.module.empty() && graph_[use.node].op == graph_[uses[0].node].op &&
             WithoutDigits(use.module) == WithoutDigits(uses[0].module);
    });
  }

  // How many tensors it took.
  int64_t Separate(TensorId tensor, GraphState* apart) {
    const std::vector<StoredUse>& uses = uses_.at(tensor);
    const std::string& name = graph_[tensor].name;
    std::map<std::string, TensorId> homes;
    for (const StoredUse& use : uses) {  // who gave it its name keeps it
      if (!use.module.empty() && name == use.module + "." + use.leaf) homes[use.Home()] = tensor;
    }
    if (homes.empty()) homes[uses[0].Home()] = tensor;
    int64_t made = 0;
    for (const StoredUse& use : uses) {
      const auto [home, fresh] = homes.try_emplace(use.Home(), TensorId{});
      if (fresh) {
        ++made;
        Tensor own{.name = name + "_" + std::to_string(made + 1), .stored = graph_[tensor].stored};
        const std::string path = use.module + "." + use.leaf;
        if (!use.module.empty() && IsModulePath(name) && names_.insert(path).second) own.name = path;
        names_.insert(own.name);
        home->second = TensorId::At(apart->graph.tensors.size());
        apart->graph.tensors.push_back(std::move(own));
        apart->shapes.tensors.push_back(shapes_[tensor]);
      }
      apart->graph.nodes[use.node.index()].inputs[use.input] = home->second;
    }
    return made;
  }

  const Graph& graph_;
  const Shapes& shapes_;
  ModulePaths modules_;
  std::map<TensorId, std::vector<StoredUse>> uses_;  // in node order
  std::map<TensorId, NodeId> first_reader_;          // products and convolutions
  std::map<TensorId, NodeId> view_of_;               // the first Reshape of each tensor
  std::set<std::string> names_;
};

// What serves two is read twice: most files have no such vector.
bool HasSharedVector(const Graph& graph) {
  std::vector<bool> read(graph.tensors.size());
  for (const Node& node : graph.nodes) {
    for (const TensorId input : node.inputs) {
      if (!graph.IsStored(input) || graph[input].stored->dims.size() != 1) continue;
      const auto tensor = input.index();
      if (read[tensor]) return true;
      read[tensor] = true;
    }
  }
  return false;
}

}  // namespace

std::optional<GraphState> SeparateMergedStored(const Graph& graph, const Shapes& shapes, Notes* notes) {
  // The dynamo exporter's own words about its parameters know better (signature.h).
  if (!graph.signature.empty() || !HasSharedVector(graph)) return std::nullopt;
  return Separator(graph, shapes).Run(notes);
}

}  // namespace vramplan
