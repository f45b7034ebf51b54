#include "graph/lift/dynamo/fx_groups.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/programs/aten_target.h"

namespace vramplan {
namespace {

// Rewrite rules of onnxscript that fold a batch norm (onnxscript/rewriter/rules/fusion/_batch_norm, 0.7).
constexpr std::string_view kFoldedNorm = "FuseBatchNormInto";

constexpr std::string_view kSlice = ".slice(";

// "features" of "features.slice(1, 4, None)": self.features[1:4](x) calls a Sequential that no module holds, of modules
// that keep their names and whose parameters are named without it.
std::string WithoutSlices(const std::string& path) {
  std::string result;
  size_t from = 0;
  for (size_t at = path.find(kSlice); at != std::string::npos; at = path.find(kSlice, from)) {
    result.append(path, from, at - from);
    const size_t end = path.find(')', at);
    if (end == std::string::npos) return result;
    from = end + 1;
  }
  return result.append(path, from);
}

// ['', 'layer1', 'layer1.0', 'relu'] and its classes: the first is the root, the last the fx node itself.
ModulePath PathOf(const Provenance& provenance, std::string* root_class) {
  const auto scopes = ParseNameList(provenance.name_scopes);
  const auto classes = ParseNameList(provenance.class_hierarchy);
  ModulePath path;
  if (!scopes.has_value() || scopes->size() < 2 || !scopes->front().empty()) return path;
  const bool named = classes.has_value() && classes->size() == scopes->size();
  if (named && root_class->empty()) *root_class = classes->front();
  for (size_t i = 1; i + 1 < scopes->size(); ++i) {
    path.push_back({.path = WithoutSlices((*scopes)[i]), .class_name = named ? (*classes)[i] : std::string()});
  }
  return path;
}

}  // namespace

FxGroups GroupByFxNode(const Graph& graph, const std::vector<bool>& live) {
  FxGroups result;
  result.of_node.assign(graph.nodes.size(), -1);
  std::unordered_map<std::string_view, int32_t> by_text;  // -1: host, or not understood
  std::unordered_map<std::string, int32_t> by_name;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    const NodeId id = NodeId::At(n);
    int32_t group = -1;
    if (!node.provenance.fx_node.empty()) {
      const auto [entry, is_new] = by_text.emplace(node.provenance.fx_node, -1);
      if (is_new) {
        if (std::optional<FxNode> fx = ParseFxNode(node.provenance.fx_node)) {
          for (const FxLiteral& argument : fx->arguments)
            VisitRefs(argument, [&](const std::string& name) { result.referenced.insert(name); });
          for (const auto& [key, value] : fx->keywords)
            VisitRefs(value, [&](const std::string& name) { result.referenced.insert(name); });
          // PyTorch 2.6 writes split, chunk and unbind as a sequence, and each piece that is used as a node of its own
          // (%getitem = operator.getitem(%split, 0): SequenceAt). The call that made the sequence gives the pieces.
          const auto whole = fx->target == "operator.getitem" && !fx->arguments.empty()
                                 ? by_name.find(fx->arguments.front().text)
                                 : by_name.end();
          if (whole != by_name.end()) {
            entry->second = whole->second;
          } else if (IsHostTarget(fx->target)) {
            result.host.insert(fx->name);
          } else {
            entry->second = static_cast<int32_t>(result.groups.size());
            by_name.emplace(fx->name, entry->second);
            result.groups.push_back({.fx = std::move(*fx), .path = PathOf(node.provenance, &result.root_class)});
          }
        }
      }
      group = entry->second;
      if (group >= 0 && node.provenance.rewrite_rules.find(kFoldedNorm) != std::string::npos) {
        result.groups[static_cast<size_t>(group)].folded_norm = true;
      }
    } else {
      for (const TensorId output : node.outputs) {
        if (!output.valid()) continue;
        const auto found = by_name.find(graph[output].name);
        if (found != by_name.end()) group = found->second;
      }
      // The type of what bags of embeddings give is written behind their loop.
      const NodeId maker = node.op == "Cast" && !node.inputs.empty() ? graph.MakerOf(node.inputs[0]) : NodeId{};
      const int32_t before = maker.valid() ? result.of_node[maker.index()] : -1;
      if (group < 0 && before >= 0 &&
          result.groups[static_cast<size_t>(before)].fx.target.starts_with("aten.embedding_bag"))
        group = before;
    }
    result.of_node[n] = group;
    if (!live[n]) continue;
    if (group < 0) {
      result.bare.push_back(id);
    } else {
      result.groups[static_cast<size_t>(group)].nodes.push_back(id);
    }
  }

  // Live groups in execution order; of_node follows.
  std::vector<int32_t> order;
  for (size_t g = 0; g < result.groups.size(); ++g) {
    if (!result.groups[g].nodes.empty()) order.push_back(static_cast<int32_t>(g));
  }
  std::ranges::sort(order, [&](int32_t a, int32_t b) {
    return result.groups[static_cast<size_t>(a)].last() < result.groups[static_cast<size_t>(b)].last();
  });
  std::vector<FxGroup> ordered;
  for (const int32_t g : order) ordered.push_back(std::move(result.groups[static_cast<size_t>(g)]));
  result.groups = std::move(ordered);
  std::fill(result.of_node.begin(), result.of_node.end(), -1);
  for (size_t g = 0; g < result.groups.size(); ++g) {
    for (const NodeId node : result.groups[g].nodes) result.of_node[node.index()] = static_cast<int32_t>(g);
  }
  return result;
}

ModulePath CommonPath(const FxGroups& groups, const std::vector<std::vector<NodeId>>& consumers, const Node& node,
                      const ModulePath& maker) {
  const auto shorten = [](ModulePath* path, const ModulePath& other) {
    path->erase(std::mismatch(path->begin(), path->end(), other.begin(), other.end()).first, path->end());
  };
  std::optional<ModulePath> common;
  NodeId first;
  ModulePath between;
  for (const TensorId tensor : node.outputs) {
    if (!tensor.valid()) continue;
    for (const NodeId user : consumers[tensor.index()]) {
      const int32_t g = groups.of_node[user.index()];
      if (g < 0) continue;
      const ModulePath& path = groups.groups[static_cast<size_t>(g)].path;
      if (!common.has_value()) common = path;
      shorten(&*common, path);
      if (first.valid() && first < user) continue;
      first = user;
      between = maker;
      shorten(&between, path);
    }
  }
  return common.has_value() && common->size() > between.size() ? *common : between;
}

}  // namespace vramplan
