#include "graph/lift/onnxruntime/fused_attention.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace vramplan {
namespace {

Attributes Swap(int64_t a, int64_t b) { return Named({{"dim0", a}, {"dim1", b}}); }

// The past in front, where there is one, and every head as often as its queries need it.
class Side {
 public:
  Side(FusedParts& parts, const FusedAttention& a) : parts_(parts), a_(a) {}

  Operand Of(Operand input, const Shape& given, Operand past, size_t present, bool rotate) {
    const bool split = given.rank() == 4;
    shape = split ? given : Shape{given[0], a_.kv_heads, given[1], given[2].c0() / a_.kv_heads};
    Operand heads = split ? input : parts_.Heads(input, given, shape[1], shape[3]);
    if (rotate) heads = Rotated(parts_, heads, shape, a_);
    const Operand out = present == 0 ? Operand{} : parts_.Out(present);
    if (past.valid()) {
      if (a_.past.rank() == 4) shape[2] = shape[2] + a_.past[2];
      const std::vector<Operand> both = {past, heads};
      const Attributes rows = Named({{"dim", int64_t{2}}});
      if (out.valid()) {
        parts_.Put("cat", both, out, rows);
        heads = out;
      } else {
        heads = parts_.Make("cat", shape, both, rows);
      }
    } else if (out.valid()) {
      parts_.Put("reshape", {heads}, out);  // the present is what attention reads
    }
    // Without a mask torch's function takes fewer heads of keys than of queries (sdpa_attention.py 5.23,
    // use_gqa_in_sdpa); else they are repeated (modeling_llama.py 5.23, repeat_kv).
    if (a_.kv_heads == a_.heads || (a_.one_call && !a_.mask.valid())) return heads;
    const int64_t times = a_.heads / a_.kv_heads;
    const Shape apart{shape[0], a_.kv_heads, times, shape[2], shape[3]};
    const Operand spread = parts_.Make("expand", apart, {heads});
    shape[1] = a_.heads;
    return parts_.Make("reshape", shape, {spread});
  }

  Shape shape;

 private:
  FusedParts& parts_;
  const FusedAttention& a_;
};

// matmul(q, k^T), scale, masks, softmax, matmul(., v)
Operand Written(FusedParts& parts, const FusedAttention& a, Operand q, Operand k, Operand v, const Shape& keys,
                const Shape& context, double scale) {
  const Shape square{context[0], context[1], context[2], keys[2]};
  const Operand turned = parts.Make("transpose", Shape{keys[0], keys[1], keys[3], keys[2]}, {k}, Swap(2, 3));
  Operand scores = parts.Make("matmul", square, {q, turned});
  if (scale != 1) scores = parts.MakeWith(scale, "mul", square, scores);
  if (a.bias.valid()) scores = parts.Make("add", square, {scores, a.bias});
  if (a.mask.valid()) scores = parts.Make("add", square, {scores, a.mask});
  if (a.masked || a.causal) scores = parts.MakeWith(0, "add", square, scores);
  const Operand weights = parts.Make("softmax", square, {scores}, Named({{"dim", int64_t{3}}}));
  return parts.Make("matmul", context, {weights, v});
}

// The operand of attention that the optimizer made of a mask: cast to int32, summed for the lengths of rows that are
// padded at their ends, or handed through the embeddings.
TensorId Unprepared(PatternSource& source, TensorId mask) {
  for (int steps = 0; steps < 4 && mask.valid(); ++steps) {
    const NodeId embedding = source.MakerOf(mask, "EmbedLayerNormalization");
    NodeId maker = source.MakerOf(mask, "Cast");
    if (!maker.valid()) maker = source.MakerOf(mask, "ReduceSum");
    if (!embedding.valid() && !maker.valid()) break;
    mask = embedding.valid() ? source.In(embedding, 7) : source.In(maker, 0);
  }
  return mask;
}

// What all attentions share stands right behind `maker`, which makes what it is made of; invalid: nobody does.
Operand Shared(PatternSource& source, NodeId maker, const std::string& name, const char* op, DType type,
               const Shape& shape, std::vector<Operand> inputs, Attributes attributes = {}) {
  const Operand made = source.New(name + "." + op, type, shape);
  if (attributes.Has("scalar")) inputs.push_back({});
  source.Add({.op = op,
              .inputs = std::move(inputs),
              .outputs = {made},
              .attributes = std::move(attributes),
              .nodes = {maker.valid() ? maker : NodeId{0}},
              .position = NodeId{maker.valid() ? maker.value + 1 : 0}});
  return made;
}

Operand WithPositions(PatternSource& source, TensorId bias, NodeId mask_maker, Operand mask, const FusedAttention& a) {
  const Shape positions = source.ShapeOf(bias);
  Shape shape{a.queries[0], a.heads, a.queries[1], a.keys[1]};
  if (positions.rank() == 4) shape[1] = positions[1];
  return Shared(source, std::max(mask_maker, source.graph()[bias].producer), "position_bias", "add", DType::kFloat32,
                shape, {source.Use(bias), mask});
}

// Whether it took the attention from there. With a mask it then keeps the mask's lowest number; a bias of positions
// (T5), which differs from head to head, was written out. What is left is open: the default is taken, and said.
bool FromOneCall(const PatternSource& source, NodeId root, bool masked, TensorId bias) {
  if (!KnowsOneCall(source) || (masked && !source[root].attributes.Has("mask_filter_value"))) return false;
  if (bias.valid() && (source.RankOf(bias) < 3 || !source.ShapeOf(bias).FromEnd(3).Is(1))) return false;
  source.notes().Add({.code = "assumed-attention",
                      .subject = source.graph().file,
                      .text = "ONNX Runtime fused its attention, which is assumed to be scaled_dot_product_attention, "
                              "the default of Hugging Face's models",
                      .hint = "if attn_implementation was eager, give the file as it was before optimization"});
  return true;
}

// The mask [B, L] behind the operand `mask` of a fused node, as transformers make it of their attention_mask: once for
// all layers, [B, 1, 1, L], or with the rows of the scores for torch's function (modeling_attn_mask_utils.py 4.57).
void SetMask(PatternSource& source, TensorId mask, FusedAttention* a) {
  if (!mask.valid()) return;
  const TensorId given = Unprepared(source, mask);
  const Shape shape = given.valid() ? source.ShapeOf(given) : Shape();
  if (shape.rank() != 2 || a->keys.rank() != 3) {
    a->masked = true;
    return;
  }
  const TensorId key = a->bias.valid() ? a->bias.tensor : given;
  Operand& shared = source.SharedFrom(key);
  a->mask_shape = Shape{shape[0], 1, a->one_call ? a->queries[1] : Dim(1), shape[1]};
  if (!shared.valid()) {
    const NodeId maker = source.graph()[given].producer;
    const auto add = [&](const char* op, DType type, const Shape& made, Operand x, Attributes attributes = {}) {
      return Shared(source, maker, "attention_mask", op, type, made, {x}, std::move(attributes));
    };
    const DType type = source.TypeOf(given), real = DType::kFloat32;
    const Shape& full = a->mask_shape;
    const Shape row{shape[0], 1, shape[1]}, rows{shape[0], 1, 1, shape[1]};
    Operand x = add("unsqueeze", type, row, source.Use(given), Named({{"dim", int64_t{1}}}));
    x = add("unsqueeze", type, rows, x, Named({{"dim", int64_t{2}}}));
    if (a->one_call) x = add("expand", type, full, x);
    x = add("to", real, full, x);
    x = add("rsub", real, full, x, Named({{"scalar", 1.0}}));
    x = add("mul", real, full, x, Named({{"scalar", -1.0}}));
    shared = a->bias.valid() ? WithPositions(source, a->bias.tensor, maker, x, *a) : x;
  }
  // The first layer of a stack adds both, the others get the sum (modeling_t5.py 5.23).
  if (a->bias.valid()) {
    a->bias = shared;
  } else {
    a->mask = shared;
  }
}

}  // namespace

Operand Rotated(FusedParts& parts, Operand x, const Shape& shape, const FusedAttention& a) {
  if (!a.cosines.valid() || !shape.FromEnd(1).IsConstant()) return x;
  const int64_t width = shape.FromEnd(1).c0(), turning = std::min(a.rotary_width, width);
  const auto columns = [&](Operand of, int64_t start, int64_t count) {
    Shape part = shape;
    part[part.rank() - 1] = count;
    return parts.Slice(of, part, 3, start);
  };
  const auto beside = [&](Operand left, Operand right, int64_t count) {
    Shape whole = shape;
    whole[whole.rank() - 1] = count;
    return parts.Make("cat", whole, {left, right}, Named({{"dim", int64_t{3}}}));
  };
  Shape part = shape, half = shape;
  part[part.rank() - 1] = turning;
  half[half.rank() - 1] = turning / 2;
  const Operand turned = turning == width ? x : columns(x, 0, turning);
  const Operand direct = parts.Make("mul", part, {turned, a.cosines});
  const Operand first = columns(turned, 0, turning / 2);
  const Operand minus = parts.Make("neg", half, {columns(turned, turning / 2, turning / 2)});
  const Operand across = parts.Make("mul", part, {beside(minus, first, turning), a.sines});
  const Operand sum = parts.Make("add", part, {direct, across});
  return turning == width ? sum : beside(sum, columns(x, turning, width - turning), width);
}

bool EmitAttention(PatternSource& source, NodeId root, FusedAttention a) {
  if (a.kv_heads == 0) a.kv_heads = a.heads;
  const auto divides = [](const Dim& width, int64_t heads) { return width.IsConstant() && width.c0() % heads == 0; };
  if (a.heads <= 0 || a.kv_heads <= 0 || a.heads % a.kv_heads != 0 || a.queries.rank() != 3) return false;
  if (!divides(a.queries[2], a.heads)) return false;
  for (const Shape* side : {&a.keys, &a.values}) {
    if (side->rank() != 4 && (side->rank() != 3 || !divides((*side)[2], a.kv_heads))) return false;
    if (side->rank() == 4 && !(*side)[3].IsConstant()) return false;
  }
  const Dim width = a.queries[2].c0() / a.heads;
  const Shape rows{a.queries[0], a.heads, a.queries[1], width};
  FusedParts parts(source, root);
  const Operand q = Rotated(parts, parts.Heads(a.query, a.queries, a.heads, width), rows, a);
  Side keys(parts, a), values(parts, a);
  const size_t present = a.stacked ? 0 : a.present;
  const Operand k = keys.Of(a.key, a.keys, a.past_key, present, true);
  const Operand v = values.Of(a.value, a.values, a.past_value, present == 0 ? 0 : present + 1, false);
  if (a.stacked && a.present != 0) parts.Put("stack", {k, v}, parts.Out(a.present), Named({{"dim", int64_t{0}}}));
  const Shape context{rows[0], rows[1], rows[2], values.shape[3]};
  const double usual = 1 / std::sqrt(static_cast<double>(width.c0()));
  const double scale = a.scale == 0 ? usual : a.scale;
  Operand mixed;
  if (a.one_call) {
    Attributes attributes = Named(
        {{"dropout_p", 0.0}, {"is_causal", static_cast<int64_t>(a.causal && !a.mask.valid() && !a.bias.valid())}});
    if (std::abs(scale / usual - 1) > 1e-3) attributes.Set("scale", scale);
    mixed = parts.Make("scaled_dot_product_attention", context, {q, k, v, a.mask.valid() ? a.mask : a.bias},
                       std::move(attributes));
  } else {
    mixed = Written(parts, a, q, k, v, keys.shape, context, scale);
  }
  const Operand back = parts.Make("transpose", Shape{rows[0], rows[2], rows[1], context[3]}, {mixed}, Swap(1, 2));
  parts.Put("reshape", {back}, parts.Out(0));
  return true;
}

bool KnowsOneCall(const PatternSource& source) {
  int major = 0, minor = 0;
  const std::string& producer = source.graph().producer;
  if (std::sscanf(producer.c_str(), "onnxruntime.transformers %d.%d", &major, &minor) != 2) return false;
  return major > 1 || (major == 1 && minor >= 21);
}

bool EmitMasked(PatternSource& source, NodeId root, TensorId mask, FusedAttention a) {
  constexpr size_t kBias = 5;
  a.scale = source[root].attributes.Real("scale", 0);
  a.causal = source[root].attributes.Int("unidirectional", 0) != 0;
  a.bias = source.Input(root, kBias);
  a.present = source.Out(root, 1).valid() ? 1 : 0;
  a.one_call = FromOneCall(source, root, mask.valid(), source.In(root, kBias));
  SetMask(source, mask, &a);
  return EmitAttention(source, root, a);
}

}  // namespace vramplan
