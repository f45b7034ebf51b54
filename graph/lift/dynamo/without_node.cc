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

// Where a function of a module (F.silu(t) in every block) ran again: the modules of the user out to the one that is of
// the class that called it the first time; a module of its own ran beside the user.
ModulePath PathOfRepeat(const ModulePath& first, const ModulePath& user) {
  ModulePath path = user;
  const bool has_own = !first.empty() && first.back().class_name.starts_with("torch.nn.modules.");
  const auto is_torch = [&] { return !path.empty() && path.back().class_name.starts_with("torch.nn.modules."); };
  if (has_own) {
    if (is_torch()) path.pop_back();
    return path;
  }
  if (first.empty()) {  // m(torch.cat([x, y], 1)) for m in self.heads: no Sequential joins anything itself
    while (is_torch()) path.pop_back();
    return path;
  }
  while (!path.empty() && path.back().class_name != first.back().class_name) path.pop_back();
  return path.empty() ? user : path;
}

// The operators that may run twice on one operand: those that make a tensor of it. Views cost nothing, the parts of a
// split are called getitem.
bool MakesTensor(std::string_view op) {
  static const std::unordered_set<std::string_view> kNot = {
      "view",    "reshape", "permute", "transpose",  "expand", "slice",   "select",       "unsqueeze",
      "squeeze", "unbind",  "split",   "contiguous", "clone",  "to",      "dropout",      "arange",
      "full",    "ones",    "empty",   "bernoulli",  "",       "getitem", "slice_scatter"};
  return !kNot.contains(op);
}

// Gives a layer the parameters and buffers of a module like its own that the file names nowhere else, inside `within`
// and not `except`, as near to its user as there is one; gives that module, or nothing when there is none.
std::string TakeTwins(const std::string& within, const std::string& except, Layer* layer, const FxSite& at) {
  std::vector<ValueId> own;
  std::vector<size_t> places;
  for (size_t i = 0; i < layer->inputs.size(); ++i) {
    const ValueId input = layer->inputs[i];
    if (!input.valid()) continue;
    const Role role = at.builder.At(input).role;
    if (role != Role::kParameter && role != Role::kBuffer) continue;
    own.push_back(input);
    places.push_back(i);
  }
  const std::string user = at.user.path.empty() ? "" : at.user.path.back().path;
  const auto twins = at.signature.TakeTwins(own, user, within, except);
  if (!twins.has_value()) return "";
  for (size_t i = 0; i < places.size(); ++i) layer->inputs[places[i]] = twins->values[i];
  return twins->module;
}

Layer Again(const Layer& first, const std::string& name) {
  return {.op = first.op,
          .name = name,
          .inputs = first.inputs,
          .outputs = std::vector<ValueId>(first.outputs.size()),
          .attributes = first.attributes,
          .evidence = Evidence::kProvenance};
}

// Adds `again`, a repetition of what made `source`, in front of `user`.
ValueId AddAgain(Layer again, ValueId source, ModulePath path, const FxSite& at) {
  const ValueId result = at.builder.AddValue(Like(source, again.name, at.builder));
  again.outputs.front() = result;
  at.builder.AddLayer(std::move(again), std::move(path), at.user.last());
  return result;
}

// The layer behind `source` once more. Invalid: it changed its operand, so that there is nothing left to run it on.
ValueId Repeat(const std::string& name, ValueId source, const FxSite& at) {
  const Layer first = *at.builder.MakerOf(source);
  if (first.attributes.Int("inplace", 0) != 0 || first.outputs.front() != source) return {};
  Layer again = Again(first, name);
  const std::string module = TakeTwins("", "", &again, at);
  const ModulePath first_path = at.builder.PathOf(source);
  ModulePath path = module.empty() || first_path.empty()
                        ? PathOfRepeat(first_path, at.user.path)
                        : PathOfModule(module, first_path.back().class_name, at.classes);
  return AddAgain(std::move(again), source, std::move(path), at);
}

// 0 + x and x * 1.0 make a tensor all the same (aten/src/ATen/native/BinaryOps.cpp, PyTorch 2.10). Where the norm that
// they follow is merged too, that was one of the user's own (timm's MobileOneBlock: 0 + identity(x)). A module class of
// the model's own that makes x scaled it itself (transformers' BartScaledWordEmbedding), else the user did; a sum is
// begun where its first summand is there (out = 0 + conv_scale(x); out += conv(x)), unless another module made that
// (positions that a decoder shares with its encoder since the export). Of several users it was the frame around them:
// x = self.act(x) * self.beta; shortcut = self.downsample(x); x = self.conv1(x). A difference is one, x - x.mean(), that
// was merged with the same within a variance: its user made it.
ValueId Arithmetic(const std::string& op, const std::string& name, ValueId source, const FxSite& at) {
  ModulePath path = at.user.path;
  if (at.last != nullptr) {
    const ModulePath& last = at.last->path;
    path.erase(std::mismatch(path.begin(), path.end(), last.begin(), last.end()).first, path.end());
  }
  if (!path.empty()) source = LiftNormWithoutNode(path.back().path + ".", source, at);
  NodeId position = at.user.last();
  const Layer* maker = at.builder.MakerOf(source);
  const ModulePath made_in = at.builder.PathOf(source);
  const bool inside_user = made_in.size() <= path.size() && std::equal(made_in.begin(), made_in.end(), path.begin());
  const bool made_by_user = path.size() <= made_in.size() && std::equal(path.begin(), path.end(), made_in.begin());
  if (maker != nullptr && !maker->nodes.empty() && op == "add") {
    if (made_by_user) position = maker->nodes.back();
  } else if (maker != nullptr && !maker->nodes.empty() && !inside_user && op != "sub" &&
             !made_in.back().class_name.starts_with("torch.")) {
    position = maker->nodes.back();
    path = made_in;
  }
  return at.builder.Make(Like(source, name, at.builder), op, {source}, std::move(path), position,
                         Named({{"scalar", op == "add" || op == "sub" ? 0.0 : 1.0}}));
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

// ne(a, b) is Not(Equal(a, b)) to the exporter (onnxscript 0.7, torch_lib/ops/core.py, aten_ne), and an eq of the same
// operands becomes that Equal: the ne of which `source` is the inner part; null when it is of none.
const Layer* OppositeOf(ValueId source, LayerBuilder& builder) {
  for (const Node& node : builder.graph().nodes) {
    if (node.op != "Not" || !builder.HasValue(node.inputs[0]) || builder.ValueOf(node.inputs[0]) != source) continue;
    const Layer* maker = builder.MakerOf(builder.ValueOf(node.outputs[0]));
    if (maker != nullptr && maker->op == "ne") return maker;
  }
  return nullptr;
}

}  // namespace

std::string OperatorOf(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string::npos && end + 1 < name.size() && name[end] == '_' ? name.substr(0, end) : name;
}

bool IsArithmetic(std::string_view op) { return IsOneOf(op, {"add", "sub", "mul", "div"}); }

ValueId LiftCallWithoutNode(const std::string& name, ValueId source, const FxSite& at) {
  if (!Runs("read", "without_node LiftCallWithoutNode")) return source;
  if (!source.valid()) return source;
  const std::string op = OperatorOf(name);
  if (op == "clone") {
    if (!IsCopy(source, at)) {  // a dropout of nothing, perhaps behind a norm that was merged
      return at.user.path.empty() ? source : LiftNormWithoutNode(at.user.path.back().path, source, at);
    }
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
  const AtenRule* rule = FindAtenRule("aten." + op + ".default");
  const Layer* maker = at.builder.MakerOf(source);
  const bool is_made = at.builder.At(source).role == Role::kActivation || at.builder.At(source).role == Role::kInput;
  if (op == "cat" && is_made && (maker == nullptr || maker->op != "cat") && Runs("read", "without_node JoinOfOne"))
    return JoinOfOne(name, source, maker, at);
  const bool centred = op == "sub" && at.builder.At(source).role == Role::kParameter;  // weight - weight.mean()
  if (IsArithmetic(op) && (centred || at.builder.At(source).role == Role::kActivation) &&
      (maker == nullptr || maker->op != op) && Runs("read", "without_node Arithmetic")) {
    return Arithmetic(op, name, source, at);
  }
  // Of what a norm gives only getitem is named.
  if (op == "getitem" && !at.user.path.empty() && Runs("read", "without_node getitem"))
    return LiftNormWithoutNode(at.user.path.back().path, source, at);
  if (op == "eq" && maker == nullptr && at.builder.At(source).role == Role::kActivation) {
    const Layer* opposite = OppositeOf(source, at.builder);
    if (opposite == nullptr || !Runs("read", "without_node OppositeOf")) return source;
    Layer equal = Again(*opposite, name);
    equal.op = op;
    return AddAgain(std::move(equal), source, at.user.path, at);
  }
  if (rule == nullptr || maker == nullptr || rule->op != maker->op || !MakesTensor(rule->op)) return source;
  if (!Runs("read", "without_node Repeat")) return source;
  const ValueId again = Repeat(name, source, at);
  return again.valid() ? again : source;
}

ValueId LiftNormWithoutNode(const std::string& module, ValueId source, const FxSite& at) {
  if (!Runs("read", "without_node LiftNormWithoutNode")) return source;
  static const std::unordered_set<std::string_view> kNorms = {"batch_norm", "layer_norm", "group_norm"};
  const size_t dot = module.rfind('.');
  if (!source.valid() || dot == std::string::npos || at.builder.MakerOf(source) == nullptr) return source;
  const Layer last = *at.builder.MakerOf(source);
  const bool is_norm = kNorms.contains(last.op);
  const ValueId normed = is_norm || last.inputs.empty() ? source : last.inputs.front();
  const Layer* norm = at.builder.MakerOf(normed);
  if (norm == nullptr || !kNorms.contains(norm->op) || norm->outputs.front() != normed) return source;
  static const std::unordered_set<std::string_view> kBetween = {"relu", "leaky_relu", "elu",       "gelu",    "silu",
                                                                "mish", "hardtanh",   "hardswish", "sigmoid", "tanh"};
  if (!is_norm && !kBetween.contains(last.op)) return source;
  Layer again = Again(*norm, norm->name + ".again");
  const std::string twin = TakeTwins(module.substr(0, dot + 1), module, &again, at);
  if (twin.empty()) return source;
  NoteThatItActed("read", "without_node LiftNormWithoutNode made");
  const std::string norm_class = at.builder.PathOf(normed).empty() ? "" : at.builder.PathOf(normed).back().class_name;
  const ModulePath path = PathOfModule(twin, norm_class, at.classes);
  ValueId result = AddAgain(std::move(again), normed, path, at);
  if (is_norm) return result;
  Layer activation = Again(last, last.name + ".again");
  activation.inputs.front() = result;
  // timm's BatchNormAct2d holds its activation; elsewhere that is a module of the block.
  const ModulePath first_path = at.builder.PathOf(source);
  const bool has_own = !first_path.empty() && first_path.back().class_name.starts_with("torch.nn.modules.");
  ModulePath activation_path = path;
  if (has_own && at.builder.PathOf(source).size() <= at.builder.PathOf(normed).size()) activation_path.pop_back();
  return AddAgain(std::move(activation), source, std::move(activation_path), at);
}

TensorId DataBehind(const Node& node, const Graph& graph, const Shapes& shapes, const Signature& signature) {
  TensorId computed;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const TensorId input = node.inputs[i];
    if (!input.valid() || IsShapeOperand(node, i)) continue;
    const bool is_stored = graph[input].stored.has_value();
    const bool is_whole = shapes[input].shape == shapes[node.outputs[0]].shape;
    if (is_stored && is_whole && node.op == "Sub" && signature.ByTarget(graph[input].name).valid()) return input;
    if (!is_stored && !computed.valid()) computed = input;
  }
  return computed;
}

}  // namespace vramplan
