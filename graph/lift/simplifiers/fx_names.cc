#include "graph/lift/simplifiers/fx_names.h"

#include <algorithm>
#include <unordered_set>

#include "graph/base/text.h"
#include "graph/lift/dynamo/without_node.h"
#include "graph/programs/aten.h"

namespace vramplan {
namespace {

constexpr std::string_view kNode = "node_";

}  // namespace

bool HasFxNames(const Graph& graph) {
  if (graph.producer.find("pytorch") == std::string::npos || !graph.signature.empty()) return false;
  bool any = false;
  for (const Node& node : graph.nodes) {
    if (!node.provenance.fx_node.empty()) return false;
    any |= node.name.starts_with(kNode);
  }
  return any;
}

std::string FxOperatorOf(const std::string& name) {
  if (name.find_first_of("./:") != std::string::npos) return "";
  const std::string op = OperatorOf(name);
  if (op == "getitem" || op.starts_with("lifted_tensor")) return op;
  // A module may call its own parameters and buffers so.
  static const std::unordered_set<std::string_view> kAlsoLeaves = {"mean", "std", "var", "norm"};
  if (op == name && kAlsoLeaves.contains(op)) return "";
  return FindAtenRule("aten." + op) != nullptr ? op : "";
}

bool IsOutputLayer(const std::string& module) {
  const std::string_view leaf = LeafOf(module);
  return leaf.ends_with("head") || leaf == "decoder" || leaf == "generator" || leaf.starts_with("output");
}

}  // namespace vramplan
