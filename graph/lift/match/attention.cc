// torch.nn.functional.scaled_dot_product_attention and the packed projection of nn.MultiheadAttention.
#include <algorithm>
#include <cmath>

#include "graph/base/text.h"
#include "graph/lift/match/source.h"
#include "graph/lift/simplifiers/fx_names.h"

namespace vramplan {
namespace {

// Mul(x, sqrt(scale)): the exporter scales both sides of the first product by the root of the scale, as the math
// kernel does (torch/onnx/_internal/torchscript_exporter/symbolic_opset14.py 2.10), one right behind the other.
struct Scaled {
  NodeId mul;
  TensorId tensor;
  double root;
};

// The result of a Mul that a simplifier took out because it changed nothing: a scale of 1 (T5's) has gone, the name of
// its result is there ("/attn/Mul_2_output_0").
bool WasScaled(PatternSource& source, TensorId operand) {
  const std::string& name = source.NameOf(operand);
  const size_t slash = name.rfind('/');
  return slash != std::string::npos && name.compare(slash, 4, "/Mul") == 0 && !source.MakerOf(operand, "Mul").valid();
}

std::optional<Scaled> ScaledBy(PatternSource& source, TensorId operand) {
  const NodeId mul = source.OnlyMakerOf(operand, "Mul");
  if (!mul.valid()) return std::nullopt;
  const auto parts = source.TensorAndNumber(mul);
  if (!parts.has_value()) return std::nullopt;
  return Scaled{mul, parts->first, parts->second};
}

bool KeptItsName(PatternSource& source, NodeId product) {
  return source.FromPyTorch() && source.NameOf(source[product].outputs[0]).find("/MatMul_output") != std::string::npos;
}

// What the product adds to the scores.
struct Mask {
  TensorId tensor;  // invalid: none, or causal
  bool causal = false;
  std::vector<NodeId> nodes;
};

// Where(Equal(Trilu(ones), 0), -inf, 0) is what the exporter writes for is_causal; Where(mask, 0, -inf) is a mask of
// booleans; anything else is a mask of numbers.
Mask MaskOf(PatternSource& source, TensorId tensor) {
  const NodeId where = source.MakerOf(tensor, "Where");
  if (!where.valid()) return {tensor, false, {}};
  const auto yes = source.Number(source.In(where, 1)), no = source.Number(source.In(where, 2));
  if (!yes.has_value() || !no.has_value()) return {tensor, false, {}};
  const TensorId condition = source.In(where, 0);
  if (*yes == 0 && *no < 0) return {condition, false, {where}};
  const NodeId equal = source.MakerOf(condition, "Equal");
  const NodeId trilu = equal.valid() ? source.MakerOf(source.In(equal, 0), "Trilu") : NodeId{};
  if (*yes < 0 && *no == 0 && trilu.valid() && source[trilu].attributes.Int("upper", 1) == 0) {
    return {TensorId{}, true, {trilu, equal, where}};
  }
  return {tensor, false, {}};
}

Shape SwapLast(Shape shape) {
  std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return shape;
}

// A layer at `node` that makes what the file has not.
Operand KeyFrom(PatternSource& source, NodeId node, const char* op, Operand input, DType type, const Shape& shape,
                Attributes attributes = {}) {
  const Operand key = source.New(Beside(source[node], "key"), type, shape);
  source.Put(key, op, {input}, {node}, std::move(attributes));
  return key;
}

// Reshape([-1, L, d]), Transpose([0, 2, 1]), Reshape([B, heads, d, L]): the dynamo exporter's way to swap the last two
// axes (onnxscript 0.7, torch_lib's scaled_dot_product_attention). Without the first of them and with [1, 2, 0] it is
// nn.MultiheadAttention's own transpose(0, 1), of [L, B * heads, d], and the swap in one. Gives the key.
std::optional<Operand> KeyBehindReshapes(PatternSource& source, TensorId transposed, std::vector<NodeId>& nodes) {
  const NodeId back = source.OnlyMakerOf(transposed, "Reshape");
  const NodeId swap = back.valid() ? source.OnlyMakerOf(source.In(back, 0), "Transpose") : NodeId{};
  if (!swap.valid() || source.RankOf(transposed) < 3) return std::nullopt;
  const std::vector<int64_t> perm = source[swap].attributes.Ints("perm");
  const NodeId flat = source.OnlyMakerOf(source.In(swap, 0), "Reshape");
  const bool moved = perm == std::vector<int64_t>{1, 2, 0};
  if (!moved && (!flat.valid() || perm != std::vector<int64_t>{0, 2, 1})) return std::nullopt;
  const Shape shape = SwapLast(source.ShapeOf(transposed)), rows = source.ShapeOf(source.In(back, 0));
  if (rows.rank() != 3 || rows[2] != shape.FromEnd(2) || rows[1] != shape.FromEnd(1)) return std::nullopt;
  const DType type = source.TypeOf(transposed);
  if (moved) {
    nodes.insert(nodes.end(), {swap, back});
    return KeyFrom(source, back, "reshape",
                   KeyFrom(source, swap, "transpose", source.Input(swap, 0), type, SwapLast(rows),
                           Named({{"dim0", int64_t{0}}, {"dim1", int64_t{1}}})),
                   type, shape);
  }
  nodes.insert(nodes.end(), {flat, swap, back});
  if (source.ShapeOf(source.In(flat, 0)) == shape) return source.Input(flat, 0);
  return KeyFrom(source, flat, "reshape", source.Input(flat, 0), type, shape);  // a view in front was merged into it
}

// The key whose last two axes the exporter swapped, possibly in one Transpose with the swap of heads that the module
// itself did; then the module's own transpose becomes a layer again. No Transpose: the module had swapped them too.
std::optional<Operand> KeyOf(PatternSource& source, TensorId transposed, std::vector<NodeId>& nodes, NodeId scale) {
  if (auto key = KeyBehindReshapes(source, transposed, nodes)) return key;
  const NodeId transpose = source.MakerOf(transposed, "Transpose");
  const int rank = source.RankOf(transposed);
  if (rank < 3) return std::nullopt;
  const Shape shape = SwapLast(source.ShapeOf(transposed));
  const DType type = source.TypeOf(transposed);
  if (!transpose.valid()) {
    return KeyFrom(source, scale, "transpose", source.Use(transposed), type, shape,
                   Named({{"dim0", int64_t{rank - 2}}, {"dim1", int64_t{rank - 1}}}));
  }
  std::vector<int64_t> perm = source[transpose].attributes.Ints("perm");
  if (perm.size() != static_cast<size_t>(rank)) return std::nullopt;
  std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
  std::vector<int64_t> moved;
  for (size_t axis = 0; axis < perm.size(); ++axis) {
    if (perm[axis] != static_cast<int64_t>(axis)) moved.push_back(static_cast<int64_t>(axis));
  }
  nodes.push_back(transpose);
  const Operand input = source.Input(transpose, 0);
  if (moved.empty()) return input;
  if (moved.size() != 2) return KeyFrom(source, transpose, "permute", input, type, shape, Named({{"dims", perm}}));
  return KeyFrom(source, transpose, "transpose", input, type, shape, Named({{"dim0", moved[0]}, {"dim1", moved[1]}}));
}

bool IsNamedAttention(PatternSource& source, NodeId root) {
  return source.FromFx() &&
         FxOperatorOf(source.NameOf(source[root].outputs[0])).find("scaled_dot_product") != std::string::npos;
}

// Code of one's own scales both sides, too (openai/whisper, model.py: width ** -0.25): by what is no Sqrt, nor a number
// that the exporter folded one into; or with the views of the key in between. A simplifier leaves an initializer, in an
// order of its own.
bool IsByHand(PatternSource& source, NodeId query, NodeId key) {
  if (!source.FromPyTorch() || source.FromFx()) return false;
  const Graph& graph = source.graph();
  const auto is_root = [&](TensorId id) {
    NodeId maker = graph.MakerOf(id);
    if (maker.valid() && graph[maker].op == "Cast") maker = graph.MakerOf(graph[maker].inputs[0]);
    return maker.valid() ? graph[maker].op == "Sqrt" : source.Number(id).has_value();
  };
  const auto is_initializer = [&](TensorId id) { return graph.IsStored(id) && !graph[id].stored->literal; };
  for (const NodeId mul : {query, key}) {
    if (std::ranges::none_of(source[mul].inputs, is_root)) return true;
    if (std::ranges::any_of(source[mul].inputs, is_initializer)) return false;
  }
  for (int between = std::min(query.value, key.value) + 1; between < std::max(query.value, key.value); ++between) {
    if (!IsOneOf(graph[NodeId{between}].op, {"Sqrt", "Cast"})) return true;
  }
  return false;
}

// The factors of both sides; nothing: the product was not made for torch's function.
struct ScaledProduct {
  TensorId query, key;
  NodeId query_scale, key_scale;  // invalid: in the product itself, or gone
  double scale = 1;
};
std::optional<ScaledProduct> ProductOf(PatternSource& source, NodeId root, NodeId product, bool guarded, bool masked,
                                       const Mask& mask) {
  const TensorId left = source.In(product, 0), right = source.In(product, 1);
  if (source[product].op == "FusedMatMul") {
    // ONNX Runtime's optimizer moves both factors into the product; the guard, or the mask, tells that the math kernel
    // was written. So does the product's own name where nothing is added: code of one's own scales the result, which
    // then has the name of the Mul or Div (core/optimizer/matmul_scale_fusion.cc 1.20).
    const Attributes& fused = source[product].attributes;
    if (!guarded && !mask.causal && (masked || !KeptItsName(source, product))) return std::nullopt;
    if (fused.Int("transA", 0) != 0 || fused.Int("transB", 0) != 0) return std::nullopt;
    return ScaledProduct{left, right, {}, {}, std::abs(fused.Real("alpha", 1))};
  }
  const std::optional<Scaled> query = ScaledBy(source, left), key = ScaledBy(source, right);
  const bool alike = query && key && std::abs(query->root - key->root) <= 1e-6 * std::abs(key->root);
  if (alike && !IsByHand(source, query->mul, key->mul))
    return ScaledProduct{query->tensor, key->tensor, query->mul, key->mul, query->root * key->root};
  const bool open = !query && !key;
  const bool was_scaled = WasScaled(source, left) && WasScaled(source, right);
  if (open && (guarded || mask.causal || was_scaled || IsNamedAttention(source, root)))
    return ScaledProduct{left, right, {}, {}, 1};
  return std::nullopt;
}

// MatMul(Dropout(Softmax(MatMul(q * s, k^T * s) + mask)), v), with a guard against rows that are masked whole
bool MatchAttention(PatternSource& source, NodeId root) {
  static const std::string kProduct = "product=MatMul|FusedMatMul()";
  static const std::string kSoftmax = "Softmax((sum=Add(" + kProduct + ", mask) | " + kProduct + "))";
  static const std::string kWeights = "(guard=Where(&IsNaN(), _, &" + kSoftmax + ") | " + kSoftmax + ")";
  static const Form form("MatMul((&Dropout(" + kWeights + ") | " + kWeights + "), v)");
  return MatchesForm(source, root, form, [&](const NodesMatch& found) {
    const NodeId product = found.MakerOf("product");
    const bool masked = found["sum"].valid();
    const Mask mask = masked ? MaskOf(source, found["mask"]) : Mask();
    const auto scaled = ProductOf(source, root, product, found["guard"].valid(), masked, mask);
    if (!scaled) return false;
    std::vector<NodeId> nodes = mask.nodes;
    const auto key = KeyOf(source, scaled->key, nodes, scaled->key_scale.valid() ? scaled->key_scale : product);
    if (!key) return false;
    if (scaled->query_scale.valid()) nodes.insert(nodes.end(), {scaled->query_scale, scaled->key_scale});
    // Without a training flag it is none to ONNX: the exporter wrote it for the attention's own dropout_p.
    double dropout = 0;
    if (const NodeId node = source.MakerOf(source[root].inputs[0], "Dropout"); node.valid()) {
      dropout = source.Number(source.In(node, 1)).value_or(source[node].attributes.Real("ratio", 0));
      nodes.push_back(node);
    }
    for (const NodeId node : found.Nodes()) nodes.push_back(node);
    Attributes attributes = Named({{"dropout_p", dropout}, {"is_causal", static_cast<int64_t>(mask.causal)}});
    const Shape query = source.ShapeOf(scaled->query);
    const Dim width = query.rank() > 0 ? query.FromEnd(1) : Dim::Unknown();
    if (!width.IsConstant() || std::abs(scaled->scale * std::sqrt(static_cast<double>(width.c0())) - 1) > 1e-3)
      attributes.Set("scale", scaled->scale);
    return source.Emit("scaled_dot_product_attention",
                       {source.Use(scaled->query), *key, source.Use(found["v"]), source.Use(mask.tensor)},
                       std::move(nodes), std::move(attributes));
  });
}

// nn.MultiheadAttention unpacks its projection by .unsqueeze(0).transpose(0, -2).squeeze(-2).contiguous()
// (torch/nn/functional.py 2.10, _in_projection_packed); the last call, a copy, leaves no trace in the file.
bool MatchPackedProjection(PatternSource& source, NodeId root) {
  const NodeId transpose = source.OnlyMakerOf(source.In(root, 0), "Transpose");
  if (!transpose.valid()) return false;
  const std::vector<int64_t> perm = source[transpose].attributes.Ints("perm");
  const NodeId unsqueeze = source.OnlyMakerOf(source.In(transpose, 0), "Unsqueeze");
  const auto squeezed = source.IntegersOf(root, "axes", 1);
  // onnxsim lets the view in front add the axis.
  const NodeId view = source.OnlyMakerOf(source.In(transpose, 0), "Reshape");
  const Shape unsqueezed = source.ShapeOf(source.In(transpose, 0));
  const bool merged = view.valid() && unsqueezed.rank() == source.RankOf(source.In(view, 0)) + 2 && unsqueezed[0].Is(1);
  if (!merged && (!unsqueeze.valid() || source.IntegersOf(unsqueeze, "axes", 1) != std::vector<int64_t>{0}))
    return false;
  // The leading axis of one goes last but one, where the three projections were.
  const auto rank = static_cast<int64_t>(perm.size());
  if (rank < 3 || (squeezed != std::vector<int64_t>{rank - 2} && squeezed != std::vector<int64_t>{-2})) return false;
  for (int64_t axis = 0; axis < rank; ++axis) {
    const int64_t expected = axis == 0 ? rank - 2 : axis == rank - 2 ? 0 : axis;
    if (perm[static_cast<size_t>(axis)] != expected) return false;
  }
  for (const NodeId user : source.UsersOf(source[root].outputs[0])) {
    if (source[user].op != "Gather") return false;
  }
  const TensorId output = source[root].outputs[0];
  const Operand moved = source.New(Beside(source[root], "view"), source.TypeOf(output), source.ShapeOf(output));
  source.Put(moved, "squeeze", {source.Input(root, 0)}, {root});
  return source.Emit("contiguous", {moved}, {root});
}

}  // namespace

const PatternRows& AttentionPatterns() {
  static const PatternRows rows = {{"MatMul", MatchAttention}, {"Squeeze", MatchPackedProjection}};
  return rows;
}

}  // namespace vramplan
