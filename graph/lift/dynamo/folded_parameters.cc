#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "graph/base/ablation.h"
#include "graph/base/text.h"
#include "graph/habits/reparametrizations.h"
#include "graph/lift/dynamo/folded.h"
#include "graph/lift/dynamo/without_node.h"

namespace vramplan {
namespace {

// One operand and where it is used.
struct Site : FxSite {
  DType type;
  Shape shape;
  const std::string& name;

  const std::string& module() const { return user.path.back().path; }

  ValueId Add(std::string op, std::vector<ValueId> inputs, Attributes attributes) const {
    return builder.Make({.name = name, .type = type, .shape = shape}, std::move(op), std::move(inputs), user.path,
                        user.last(), std::move(attributes));
  }
};

// cat((q_bias, k_bias, v_bias)): timm's BEiT and EVA, equal parts of one bias (timm/models/beit.py, timm 1.0). One of
// them may be a buffer of zeros.
ValueId JoinedParameters(const Site& site) {
  if (!Runs("read", "folded_parameters JoinedParameters")) return {};
  const Shape whole = site.shape;
  if (whole.rank() != 1 || !whole[0].IsConstant()) return {};
  std::vector<ValueId> parts;
  for (const ValueId own : site.signature.UnreferencedOf(site.module())) {
    if (site.builder.At(own).name.ends_with("bias")) parts.push_back(own);
  }
  const auto count = static_cast<int64_t>(parts.size());
  if (count < 2 || whole[0].c0() % count != 0) return {};
  const Shape part{whole[0].c0() / count};
  for (const ValueId own : parts) {
    if (site.signature.ShapeIsKnown(own) && !(site.builder.At(own).shape == part)) return {};
  }
  for (const ValueId own : parts) site.signature.Take(own, site.type, part);
  return site.Add("cat", std::move(parts), Named({{"dim", int64_t{0}}}));
}

// biases[:, indices]: LeViT's and EfficientFormer's positions (timm/models/levit.py, timm 1.0). A row of indices holds
// the offsets of one query to every key; those of all queries are as many as there are keys.
ValueId Indexed(const Site& site) {
  if (!Runs("read", "folded_parameters Indexed")) return {};
  const Shape whole = site.shape;
  if (whole.rank() != 3) return {};
  ValueId table, indices;
  for (const ValueId own : site.signature.UnreferencedOf(site.module())) {
    const bool is_parameter = site.builder.At(own).role == Role::kParameter;
    ValueId& place = is_parameter ? table : indices;
    if (place.valid()) return {};
    place = own;
  }
  if (!table.valid() || !indices.valid()) return {};
  site.signature.Take(table, site.type, Shape{whole[0], whole[2]});
  site.signature.Take(indices, DType::kInt64, Shape{whole[1], whole[2]});
  return site.Add("index", {table, indices}, {});
}

// table[q - k + ...]: decomposed relative positions, a table rel_pos_h, rel_pos_w (rel_pos_t first to last) of every
// distance between queries and keys of one axis, 2 * max(q, k) - 1 of them; indexed to [q, k, width], perhaps with the
// last two swapped on the spot (torchvision/models/video/mvit.py 0.25, _add_rel_pos; timm/models/mvitv2.py and
// layers/pos_embed_rel.py 1.0, after segment-anything's get_rel_pos).
ValueId Relative(const Site& site, bool swapped) {
  if (!Runs("read", "folded_parameters Relative")) return {};
  if (site.shape.rank() != 3) return {};
  const Dim query = site.shape[0], key = site.shape[swapped ? 2 : 1], width = site.shape[swapped ? 1 : 2];
  if (!query.IsConstant() || !key.IsConstant()) return {};
  ValueId table;
  for (const ValueId own : site.signature.UnreferencedOf(site.module())) {
    const std::string leaf = SplitTarget(site.builder.At(own).name).second;
    if (table.valid() || site.builder.At(own).role != Role::kParameter || !leaf.starts_with("rel_pos_")) continue;
    table = own;
  }
  if (!table.valid()) return {};
  const Shape rows{Dim(2 * std::max(query.c0(), key.c0()) - 1), width};
  if (site.signature.ShapeIsKnown(table) && !(site.builder.At(table).shape == rows)) return {};
  site.signature.Take(table, site.type, rows);
  const ValueId distances = site.builder.AddValue(
      {.name = site.name + ".distances", .type = DType::kInt64, .shape = Shape{query, key}, .role = Role::kConstant});
  if (!swapped) return site.Add("index", {table, distances}, {});
  const std::string name = site.name + ".index";
  const Site picked{static_cast<const FxSite&>(site), site.type, Shape{query, key, width}, name};
  return site.Add("transpose", {picked.Add("index", {table, distances}, {})},
                  Named({{"dim0", int64_t{1}}, {"dim1", int64_t{2}}}));
}

// 1 + weight, exp(scale): one operand of as many elements.
ValueId Computed(const Site& site, const std::string& op) {
  if (!Runs("read", "folded_parameters Computed")) return {};
  const ValueId parameter = site.signature.TakeUnreferenced(site.module(), site.shape.Elements());
  if (!parameter.valid()) return {};
  if (!site.signature.ShapeIsKnown(parameter)) site.signature.SetShape(parameter, site.type, site.shape);
  static const std::unordered_set<std::string_view> kWithNumber = {"add", "sub", "rsub", "mul", "div", "pow"};
  return site.Add(op, {parameter}, kWithNumber.contains(op) ? Named({{"scalar", 1.0}}) : Attributes());
}

// cls_token.expand(B, -1, -1) of a file whose batch was fixed: what joins it has the batch (timm/models/
// vision_transformer.py, timm 1.0; transformers' ViTEmbeddings).
ValueId Expanded(const Site& site, bool joins_batch) {
  if (!Runs("read", "folded_parameters Expanded")) return {};
  if (!joins_batch || site.shape.rank() < 2 || !site.shape[0].IsConstant()) return {};
  Shape own = site.shape;
  own[0] = 1;
  const std::string module = site.user.path.empty() ? std::string() : site.module();
  for (const ValueId parameter : site.signature.UnreferencedOf(module)) {
    const Value& value = site.builder.At(parameter);
    if (value.role != Role::kParameter || (site.signature.ShapeIsKnown(parameter) && value.shape != own)) continue;
    site.signature.Take(parameter, site.type, own);
    const ValueId result = site.Add("expand", {parameter}, {});
    site.builder.At(result).shape[0] = Dim::Batch();
    return result;
  }
  return {};
}

// A linear whose bias was changed first: torchvision's Swin v2 takes a clone of it, to zero the keys' part
// (torchvision/models/swin_transformer.py, shifted_window_attention).
ValueId CopiedBias(const Site& site) {
  if (!Runs("read", "folded_parameters CopiedBias")) return {};
  if (site.user.fx.arguments[1].kind != FxLiteral::Kind::kRef) return {};
  const ValueId weight = site.signature.ByPlaceholder(site.user.fx.arguments[1].text);
  if (!weight.valid()) return {};
  const std::string& weight_name = site.builder.At(weight).name;
  const size_t dot = weight_name.rfind('.');
  if (dot == std::string::npos) return {};
  const std::string bias_name = weight_name.substr(0, dot) + ".bias";
  const ValueId bias = site.signature.ByTarget(bias_name);
  if (!bias.valid() || !site.signature.IsUnreferenced(bias_name)) return {};
  site.signature.Take(bias, site.type, site.shape);
  return site.Add("clone", {bias}, {});
}

// F.linear(x, self.weight * scale, self.bias * scale): in the second call of a module, too, where the export merged the
// product of the weight.
ValueId ComputedBias(const Site& site, const std::string& op) {
  if (!Runs("read", "folded_parameters ComputedBias")) return {};
  const std::string name = site.module() + ".bias";
  const ValueId bias = site.signature.ByTarget(name);
  if (!IsArithmetic(op) || !bias.valid() || site.builder.At(bias).role != Role::kParameter) return {};
  if (site.signature.IsUnreferenced(name)) site.signature.Take(bias, site.type, site.shape);
  if (site.builder.At(bias).shape != site.shape) return {};
  return site.Add(op, {bias}, Named({{"scalar", 1.0}}));
}

// A buffer that the module computes with on its own: pos_weight - 1, weight.view(-1, 1, 1). Only where the module has
// no other one that nothing names.
ValueId ComputedBuffer(const Site& site, const std::string& op) {
  if (!Runs("read", "folded_parameters ComputedBuffer")) return {};
  static const std::unordered_set<std::string_view> kViews = {"view", "reshape", "unsqueeze", "expand"};
  const bool views = kViews.contains(op);
  ValueId buffer;
  for (const ValueId own : site.signature.UnreferencedOf(site.module())) {
    if (buffer.valid() || site.builder.At(own).role != Role::kBuffer) return {};
    buffer = own;
  }
  if (!buffer.valid() || (!views && op != "sub") || site.builder.At(buffer).name.ends_with("num_batches_tracked"))
    return {};
  if (site.signature.ShapeIsKnown(buffer) && !(site.builder.At(buffer).shape.Elements() == site.shape.Elements()))
    return {};
  site.signature.Take(buffer, site.type, site.shape);
  return site.Add(views ? "reshape" : op, {buffer}, views ? Attributes() : Named({{"scalar", 1.0}}));
}

bool IsTransposedConvolution(const FxNode& fx) {
  if (fx.target.find("conv_transpose") != std::string::npos) return true;
  constexpr size_t kTransposed = 6;  // of aten.convolution's arguments
  return fx.target.starts_with("aten.convolution") && fx.arguments.size() > kTransposed &&
         fx.arguments[kTransposed].integer != 0;
}

// A weight that is made in front of each call of its module.
ValueId Reparametrized(const Site& given) {
  if (!Runs("read", "folded_parameters Reparametrized")) return {};
  Shape whole = given.shape;
  if (whole.rank() < 2) return {};
  // A linear of more than two axes is a MatMul, for which the export turned the constant around.
  const std::vector<NodeId>& nodes = given.user.nodes;
  const bool turned =
      given.user.fx.target.starts_with("aten.linear") && whole.rank() == 2 &&
      std::ranges::any_of(nodes, [&](NodeId node) { return given.builder.graph()[node].op == "MatMul"; });
  if (turned) whole = Shape{whole[1], whole[0]};
  const Site site{static_cast<const FxSite&>(given), given.type, whole, given.name};
  for (const Reparametrization& form : kReparametrizations) {
    std::vector<ValueId> operands;
    for (const std::string_view leaf : form.operands) {
      if (leaf.empty()) continue;
      const ValueId operand = site.signature.ByTarget(site.module() + "." + std::string(leaf));
      if (operand.valid()) operands.push_back(operand);
    }
    const bool spectral = form.op == kSpectralNorm;
    if (operands.size() != (spectral ? 3U : 2U)) continue;
    // Along the output channels, which ConvTranspose has on its second axis; weight_norm takes the first for all.
    const bool transposed = spectral && IsTransposedConvolution(site.user.fx);
    const Dim rows = whole[transposed ? 1 : 0];
    Shape norms = whole;
    for (int i = 1; i < norms.rank(); ++i) norms[i] = Dim(1);
    const std::optional<Dim> columns = DivideExactly(whole.Elements(), rows);
    site.signature.Take(operands[0], site.type, whole);
    site.signature.Take(operands[1], site.type, spectral ? Shape{rows} : norms);
    if (spectral) site.signature.Take(operands[2], site.type, Shape{columns.value_or(Dim(1))});
    Attributes attributes;
    if (form.bound) attributes.Set("bound", int64_t{1});
    if (transposed) attributes.Set("dim", int64_t{1});
    return site.Add(std::string(form.op), std::move(operands), std::move(attributes));
  }
  return {};
}

// In one of the forms that are known.
ValueId OfModule(TensorId constant, const std::string& name, NodeId bias_position, const FxSite& at) {
  // x = torch.zeros(...): nothing of the module went into it (rel_indices of timm/models/convit.py 1.0).
  static const std::unordered_set<std::string_view> kMade = {"zeros",  "ones",     "full", "empty",
                                                             "arange", "linspace", "eye"};
  if (kMade.contains(OperatorOf(name))) return {};
  // Rows of a table are picked and turned. What ends in a difference or a choice is the mask of a shifted window:
  // (windows.unsqueeze(1) - windows.unsqueeze(2)).masked_fill(...) (transformers, modeling_donut_swin.py, version 5).
  static const std::unordered_set<std::string_view> kOfMasks = {"sub", "ne", "eq", "masked_fill", "where"};
  if (!kOfMasks.contains(OperatorOf(name))) {
    const ValueId bias = LiftFoldedTable(constant, bias_position, at);
    if (bias.valid()) return bias;
  }
  const Value whole = at.builder.At(at.builder.ValueOf(constant));
  const Site site{at, whole.type, whole.shape, name};
  if (!IsFloating(site.type)) return {};
  const std::string op = OperatorOf(name);
  if (op == "expand") {
    const auto& joined = at.builder.shapes()[at.builder.graph()[at.user.last()].outputs[0]].shape;
    const bool has_batch = joined && joined->rank() > 0 && (*joined)[0] == Dim::Batch();
    if (const ValueId token = Expanded(site, has_batch && at.user.fx.target.starts_with("aten.cat")); token.valid())
      return token;
  }
  if (at.user.path.empty()) return {};
  if (whole.shape.rank() == 1) {
    const ValueId bias = LiftFoldedBias(name, whole.type, whole.shape[0], at);
    if (bias.valid()) return bias;
  }
  static const std::unordered_set<std::string_view> kPointwise = {
      "add", "sub", "rsub", "mul", "div", "pow", "exp", "neg", "sigmoid", "tanh", "softplus", "sqrt", "rsqrt", "abs"};
  ValueId result = Reparametrized(site);
  if (result.valid()) return result;
  if (op == "cat") result = JoinedParameters(site);
  if (op == "index" || op == "transpose") result = Relative(site, op == "transpose");
  if (op == "index" && !result.valid()) result = Indexed(site);
  if (kPointwise.contains(op)) result = Computed(site, op);
  if (!result.valid()) result = ComputedBuffer(site, op);
  if (!result.valid()) result = LiftFoldedProduct(constant, name, at);
  if (result.valid()) return result;
  return LiftFoldedView(constant, name, at);
}

// The one parameter that the optimizer says it folded, when no operator names it and the constant tells its size: not
// what a table was picked from.
ValueId Noted(TensorId constant, const std::string& name, const FxSite& at) {
  if (!Runs("read", "folded_parameters Noted")) return {};
  const std::optional<FxLiteral> folded = ParseFxLiteral(at.builder.graph()[constant].folded_from);
  const Value whole = at.builder.At(at.builder.ValueOf(constant));
  if (!folded || !IsFloating(whole.type)) return {};
  ValueId parameter;
  int unsqueezed = 0;
  for (const FxLiteral& item : folded->items) {
    if (OperatorOf(item.text) == "unsqueeze") ++unsqueezed;
    const ValueId own = at.signature.ByTarget(item.text);
    if (!own.valid() || at.builder.At(own).role != Role::kParameter || !at.signature.IsUnreferenced(item.text))
      continue;
    if (parameter.valid()) return {};
    parameter = own;
  }
  static const std::unordered_set<std::string_view> kViews = {"view",      "reshape", "unsqueeze",  "permute",
                                                              "transpose", "t",       "contiguous", "clone"};
  static const std::unordered_set<std::string_view> kComputed = {"add", "sub",     "mul",  "div",      "exp",
                                                                 "neg", "sigmoid", "tanh", "softplus", "relu"};
  const std::string op = OperatorOf(name);
  if (!parameter.valid() || (!kViews.contains(op) && !kComputed.contains(op) && op != "expand")) return {};
  // x.unsqueeze(0).expand(n, -1, -1): the leading axes are new. Else as many elements as the constant has.
  Shape own = whole.shape;
  for (; op == "expand" && unsqueezed > 0 && own.rank() > 0; --unsqueezed) own.Remove(0);
  at.signature.Take(parameter, whole.type, own);
  const Site site{at, whole.type, whole.shape, name};
  return site.Add(kViews.contains(op) ? "reshape" : op, {parameter},
                  IsArithmetic(op) ? Named({{"scalar", 1.0}}) : Attributes());
}

}  // namespace

ValueId LiftFoldedParameter(TensorId constant, const std::string& name, NodeId bias_position, const FxSite& at,
                            std::unordered_map<std::string, ValueId>* names) {
  ValueId made = OfModule(constant, name, bias_position, at);
  if (made.valid()) return made;
  made = Noted(constant, name, at);
  if (made.valid()) names->emplace(name, made);
  return made;
}

ValueId LiftFoldedBias(const std::string& name, DType type, Dim length, const FxSite& at) {
  if (!Runs("read", "folded_parameters LiftFoldedBias")) return {};
  const FxNode& fx = at.user.fx;
  const bool is_bias = fx.target.starts_with("aten.linear") && fx.arguments.size() == 3 &&
                       fx.arguments[2].kind == FxLiteral::Kind::kRef && fx.arguments[2].text == name;
  if (!is_bias || at.user.path.empty() || !length.IsConstant()) return {};
  const Site site{at, type, Shape{length}, name};
  ValueId bias = CopiedBias(site);
  if (!bias.valid()) bias = ComputedBias(site, OperatorOf(name));
  return bias.valid() || OperatorOf(name) != "cat" ? bias : JoinedParameters(site);
}

}  // namespace vramplan
