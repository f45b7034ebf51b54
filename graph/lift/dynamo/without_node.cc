#include "graph/lift/dynamo/without_node.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/lift/liveness.h"
#include "graph/programs/aten.h"

namespace vramplan {
namespace {

// Exporters drop clones. One between a transpose and another view, attention or a convolution was x.contiguous() and
// made a copy; others (eval dropouts, as export writes them) did nothing in the framework.
bool IsCopy(ValueId source, const FxSite& at) {
  static const std::unordered_set<std::string_view> kViews = {
      "reshape", "view",      "permute", "transpose", "expand",     "slice",
      "select",  "unsqueeze", "squeeze", "unbind",    "group_norm", "scaled_dot_product_attention"};
  // What einsum gives has its axes put in order last (aten/src/ATen/native/Linear.cpp, einsum, PyTorch 2.10).
  if (const Layer* maker = at.builder.MakerOf(source); maker != nullptr && maker->op == "einsum") return true;
  const AtenRule* rule = FindAtenRule(at.user.fx.target);
  if (rule == nullptr || (!kViews.contains(rule->op) && !rule->op.starts_with("conv"))) return false;
  // clone, _unsafe_view: export's words for a reshape that had to copy there; here strides decide.
  if (at.user.fx.target.find("_unsafe_view") != std::string::npos) return false;
  static const std::unordered_set<std::string> kReordering = {"transpose", "permute", "expand", "slice",
                                                              "select",    "split",   "unbind"};
  // A sum keeps the order of its first summand's axes in memory (aten/src/ATen/TensorIterator.cpp, reorder_dimensions).
  static const std::unordered_set<std::string> kKeeping = {"reshape", "view", "unsqueeze", "squeeze", "add"};
  const Layer* maker = at.builder.MakerOf(source);
  while (maker != nullptr && kKeeping.contains(maker->op) && !maker->inputs.empty())
    maker = at.builder.MakerOf(maker->inputs.front());
  return maker != nullptr && kReordering.contains(maker->op);
}

// Neither call is inside the other.
bool AreBeside(const ModulePath& a, const ModulePath& b) {
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  return in_a != a.end() && in_b != b.end();
}

Value Like(ValueId source, const std::string& name, const LayerBuilder& builder) {
  Value value = builder.At(source);
  value.name = name;
  value.role = Role::kActivation;
  return value;
}

// torch.cat([x], 1) makes a tensor: the first turn of a loop that joins all features so far. What a module is given was
// joined by its caller. Not keys that a new cache joins with nothing (transformers/cache_utils.py, update): they are
// views that are turned, and what the cache copies the product need not. A sum of the user's own is joined where it is
// made: q = torch.cat([q_rot * cos + rotate_half(q_rot) * sin, q_pass], -1), with nothing to pass (transformers,
// modeling_phi3.py).
ValueId JoinOfOne(const std::string& name, ValueId source, const Layer* maker, const FxSite& at) {
  static const std::unordered_set<std::string_view> kViews = {"view", "reshape", "transpose", "permute"};
  if (maker != nullptr && kViews.contains(maker->op)) return source;
  ModulePath path = at.user.path;
  const bool made_inside = !path.empty() && at.builder.PathOf(source).size() >= path.size() &&
                           at.builder.PathOf(source)[path.size() - 1] == path.back();
  if (!path.empty() && !made_inside) path.pop_back();
  const bool of_user =
      maker != nullptr && maker->op == "add" && !maker->nodes.empty() && at.builder.PathOf(source) == path;
  return at.builder.Make(Like(source, name, at.builder), "cat", {source}, std::move(path),
                         of_user ? maker->nodes.back() : at.user.last(), Named({{"dim", int64_t{1}}}));
}

}  // namespace

std::string OperatorOf(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

ValueId LiftCallWithoutNode(const std::string& name, ValueId source, const FxSite& at) {
  if (!source.valid()) return source;
  const std::string op = OperatorOf(name);
  if (op == "clone") {
    if (!IsCopy(source, at)) return source;  // a dropout of nothing
    const Layer* maker = at.builder.MakerOf(source);
    // Graph convolutions return x.contiguous() (nconv of nnzhan/Graph-WaveNet's model.py): no matter who reads it. So
    // does a module whose transposed result another module beside it reads.
    const bool returned =
        maker != nullptr && (maker->op == "einsum" || AreBeside(at.builder.PathOf(source), at.user.path));
    const bool at_maker = returned && !maker->nodes.empty();
    if (!Runs("read", "without_node clone")) return source;
    const NodeId position = at_maker ? maker->nodes.back() : at.user.last();
    ModulePath path = at_maker ? at.builder.PathOf(source) : at.user.path;
    return at.builder.Make(Like(source, name, at.builder), "contiguous", {source}, std::move(path), position);
  }
  if (op == "detach" && Runs("read", "without_node detach"))
    return at.builder.Make(Like(source, name, at.builder), "detach", {source}, at.user.path, at.user.last());
  const Role role = at.builder.At(source).role;
  const Layer* maker = at.builder.MakerOf(source);
  const bool is_made = role == Role::kActivation || role == Role::kInput;
  if (op == "cat" && is_made && (maker == nullptr || maker->op != "cat") && Runs("read", "without_node JoinOfOne"))
    return JoinOfOne(name, source, maker, at);
  return source;
}

TensorId DataBehind(const Node& node, const Graph& graph) {
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (input.valid() && !IsShapeOperand(node, i) && !graph[input].stored.has_value()) return input;
  }
  return {};
}

}  // namespace vramplan
