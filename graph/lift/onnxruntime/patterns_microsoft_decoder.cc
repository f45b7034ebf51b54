// The operators of decoders that ONNX Runtime's model builder and optimizer write (com.microsoft; ContribOperators.md
// of ONNX Runtime 1.20), taken apart again into what transformers' models run (modeling_llama.py 5.23):
//
//   GroupQueryAttention(qkv or q, k, v, past ...)  ->  rotary embedding of q and k, cat with the past,
//                                                      scaled_dot_product_attention with fewer heads of keys
//   RotaryEmbedding(x, positions, cos, sin)         ->  x * cos + rotate_half(x) * sin
#include "graph/lift/match/source.h"
#include "graph/lift/onnxruntime/fused_attention.h"
#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {
namespace {

// The optimizer's tables of cosines and sines have a row for every position; the module computes those of its input in
// each forward, once for all layers.
bool SetRotary(PatternSource& source, TensorId cosines, TensorId sines, const Dim& rows, FusedAttention* a) {
  const Shape table = cosines.valid() ? source.ShapeOf(cosines) : Shape();
  if (table.rank() != 2 || !table[1].IsConstant() || !sines.valid()) return false;
  const int64_t half = table[1].c0();
  a->rotary_width = 2 * half;
  source.TakeApart(cosines);
  source.TakeApart(sines);
  Operand& cosine = source.SharedFrom(cosines);
  Operand& sine = source.SharedFrom(sines);
  if (!cosine.valid()) {
    const auto made = [&](const char* op, const Shape& shape, std::vector<Operand> inputs, Attributes attributes = {}) {
      const Operand output = source.New(std::string("rotary_emb.") + op, DType::kFloat32, shape);
      source.Add({.op = op,
                  .inputs = std::move(inputs),
                  .outputs = {output},
                  .attributes = std::move(attributes),
                  .nodes = {NodeId{0}},
                  .position = {},
                  .path = ModulePath()});
      return output;
    };
    const Shape angle{1, rows, half}, whole{1, rows, 2 * half};
    const Operand positions = made("arange", Shape{1, rows, 1}, {});
    const Operand angles = made("mul", angle, {positions, made("full", Shape{half}, {})});
    const Operand both = made("cat", whole, {angles, angles}, Named({{"dim", int64_t{2}}}));
    cosine = made("mul", whole, {made("cos", whole, {both}), Operand{}}, Named({{"scalar", 1.0}}));
    sine = made("mul", whole, {made("sin", whole, {both}), Operand{}}, Named({{"scalar", 1.0}}));
  }
  a->cosines = cosine;
  a->sines = sine;
  return true;
}

// The model builder packs the weights of q_proj, k_proj and v_proj into one product (onnxruntime_genai/models/builders/
// base.py 0.18, make_packed_matmul), which then has its name.
bool UnpackProjections(PatternSource& source, NodeId root, TensorId packed, FusedAttention* a) {
  TensorId product = packed, bias;
  if (const NodeId add = source.OnlyMakerOf(packed, "Add"); add.valid()) {
    const size_t side = source.Stored(source.In(add, 0)) != nullptr ? 0 : 1;
    bias = source.In(add, side);
    product = source.In(add, 1 - side);
    if (source.Stored(bias) == nullptr) return false;
  }
  const NodeId matmul = source.OnlyMakerOf(product, "MatMul");
  if (!matmul.valid() || !source.IsOptimizers(matmul)) return false;
  const TensorId weight = source.In(matmul, 1);
  if (source.Stored(weight) == nullptr || source.RankOf(weight) != 2) return false;
  if (source.NameOf(weight).find("qkv_proj.MatMul") == std::string::npos) return false;
  const Dim width = source.ShapeOf(weight)[0];
  FusedParts parts(source, root);
  Operand* const sides[] = {&a->query, &a->key, &a->value};
  const char* const names[] = {"q_proj", "k_proj", "v_proj"};
  for (size_t i = 0; i < 3; ++i) {
    const Shape& shape = i == 0 ? a->queries : a->keys;
    const std::string name = names[i];
    const Operand own = bias.valid() ? source.PartOf(bias, root, name + ".bias", Shape{shape[2]}) : Operand();
    *sides[i] = parts.Make(
        "linear", shape,
        {source.Input(matmul, 0), source.PartOf(weight, root, name + ".weight", Shape{shape[2], width}), own});
  }
  return true;
}

// query [B, S, H] and key, value [B, S, Hkv], or all in the query; past key and value [B, kv_heads, P, d], lengths,
// tables.
bool MatchGroupQueryAttention(PatternSource& source, NodeId root) {
  const Attributes& attributes = source[root].attributes;
  const TensorId query = source.In(root, 0), key = source.In(root, 1), value = source.In(root, 2);
  FusedAttention a{.heads = attributes.Int("num_heads", 0), .kv_heads = attributes.Int("kv_num_heads", 0)};
  const Shape x = source.ShapeOf(query), out = source.ShapeOf(source[root].outputs[0]);
  if (a.heads <= 0 || a.kv_heads <= 0 || a.heads % a.kv_heads != 0 || x.rank() != 3 || out.rank() != 3) return false;
  if (!out[2].IsConstant() || out[2].c0() % a.heads != 0 || key.valid() != value.valid()) return false;
  const int64_t width = out[2].c0() / a.heads;
  a.queries = Shape{x[0], x[1], a.heads * width};
  a.keys = a.values = Shape{x[0], x[1], a.kv_heads * width};
  if (key.valid()) {
    if (source.ShapeOf(key) != a.keys || source.ShapeOf(value) != a.values) return false;
    a.query = source.Use(query);
    a.key = source.Use(key);
    a.value = source.Use(value);
  } else if (!UnpackProjections(source, root, query, &a)) {
    FusedParts parts(source, root);
    int64_t start = 0;
    for (Operand* side : {&a.query, &a.key, &a.value}) {
      const Shape& shape = side == &a.query ? a.queries : a.keys;
      *side = parts.Slice(source.Use(query), shape, 2, start);
      start += shape[2].c0();
    }
  }
  if (attributes.Int("do_rotary", 0) != 0) SetRotary(source, source.In(root, 7), source.In(root, 8), x[1], &a);
  const TensorId past = source.In(root, 3);
  const Shape before = past.valid() ? source.ShapeOf(past) : Shape();
  if (before.rank() == 4 && !before[2].Is(0)) {
    a.past_key = source.Use(past);
    a.past_value = source.Input(root, 4);
    a.past = before;
  }
  a.present = source.Out(root, 1).valid() ? 1 : 0;
  a.scale = attributes.Real("scale", 0);
  a.causal = a.one_call = true;
  return EmitAttention(source, root, a);
}

// x [B, S, heads * d] or [B, heads, S, d], positions, tables [rows, d / 2].
bool MatchRotary(PatternSource& source, NodeId root) {
  if (source[root].domain != "com.microsoft") return false;
  const TensorId input = source.In(root, 0), cosines = source.In(root, 2);
  const Shape x = source.ShapeOf(input);
  const int64_t given = source[root].attributes.Int("num_heads", 0);
  const Shape table = cosines.valid() ? source.ShapeOf(cosines) : Shape();
  if (table.rank() != 2 || !table[1].IsConstant() || x.rank() < 3 || !x.FromEnd(1).IsConstant()) return false;
  const int64_t width = x.FromEnd(1).c0();
  const int64_t heads = x.rank() == 4 ? 0 : given > 0 ? given : width / std::max<int64_t>(1, 2 * table[1].c0());
  if (x.rank() == 3 && (heads <= 0 || width % heads != 0)) return false;
  FusedAttention a;
  const Dim rows = x.rank() == 4 ? x[2] : x[1];
  if (!SetRotary(source, cosines, source.In(root, 3), rows, &a)) return false;
  FusedParts parts(source, root);
  if (x.rank() == 4) {
    parts.Put("reshape", {Rotated(parts, source.Use(input), x, a)}, source.Out(root));
    return true;
  }
  const Shape split{x[0], heads, x[1], width / heads};
  const Operand turned = Rotated(parts, parts.Heads(source.Use(input), x, heads, width / heads), split, a);
  const Operand back = parts.Make("transpose", Shape{x[0], x[1], heads, width / heads}, {turned},
                                  Named({{"dim0", int64_t{1}}, {"dim1", int64_t{2}}}));
  parts.Put("reshape", {back}, source.Out(root));
  return true;
}

}  // namespace

const PatternRows& MicrosoftDecoderPatterns() {
  static const PatternRows rows = {{"GroupQueryAttention", MatchGroupQueryAttention}, {"RotaryEmbedding", MatchRotary}};
  return rows;
}

}  // namespace vramplan
