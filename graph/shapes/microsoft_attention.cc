// MicrosoftAttention of com.microsoft, dense, packed and quantized (ContribOperators.md of ONNX Runtime).
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/folding.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// Rows of the present keys: those of the past, on `axis` of that input, and the new ones; the past's own number where
// the buffer is shared.
Dim Total(const NodeInference& n, int past_input, int axis, Dim fresh) {
  if (!n.Has(past_input)) return fresh;
  const auto& past = n.ShapeOf(past_input);
  const Dim rows = past && past->rank() > axis ? (*past)[axis] : Dim::Unknown();
  return n.Int("past_present_share_buffer", 0) != 0 ? rows : rows + fresh;
}

// input [B, S, I] and weights [I, 3H] (or qkv_hidden_sizes): output [B, S, H], present [2, B, heads, P + S, H/heads].
void MicrosoftAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 3 || n.ShapeOf(1)->rank() != 2) return;
  const Shape& x = *n.ShapeOf(0);
  const std::vector<int64_t> sizes = n.Ints("qkv_hidden_sizes");
  const Dim hidden = sizes.size() == 3 ? Dim(sizes[2]) : FloorDivide((*n.ShapeOf(1))[1], 3);
  n.SetShape(0, Shape{x[0], x[1], hidden});
  const Dim heads = n.Int("num_heads", 1);
  const Dim total = Total(n, 4, 3, x[1]);
  n.SetShape(1, Shape{2, x[0], heads, total, Quotient(hidden, heads).value_or(Dim::Unknown())});
}

// query [B, S, H], key, value [B, L, Hv] (or query packed [B, S, heads, 3, d]), past at 6 and 7: output [B, S, Hv],
// present K and V.
void MultiHeadAttention(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& q = *n.ShapeOf(0);
  const Dim heads = n.Int("num_heads", 1);
  if (q.rank() == 5) return n.SetShape(0, Shape{q[0], q[1], q[2] * q[4]});
  if (q.rank() != 3 || !n.ShapeOf(2)) return;
  const Shape& v = *n.ShapeOf(2);
  const bool split = v.rank() == 4;  // [B, heads, L, d]
  if (v.rank() != 3 && !split) return;
  const Dim width = split ? v[1] * v[3] : v[2], keys = split ? v[2] : v[1];
  n.SetShape(0, Shape{q[0], q[1], width});
  const Dim total = Total(n, 6, 2, keys);
  n.SetShape(1, Shape{q[0], heads, total, Quotient(q[2], heads).value_or(Dim::Unknown())});
  n.SetShape(2, Shape{q[0], heads, total, Quotient(width, heads).value_or(Dim::Unknown())});
}

// query [B, S, H] (packed with K and V when those are absent), past K and V [B, kv_heads, P, d] at 3 and 4. The present
// is as long as the past buffer when that is shared, else as total_sequence_length says.
void GroupQueryAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 3) return;
  const Shape& q = *n.ShapeOf(0);
  const Dim heads = n.Int("num_heads", 1), kv_heads = n.Int("kv_num_heads", 1);
  const Dim width = Quotient(q[2], n.Has(1) ? heads : heads + Dim(2) * kv_heads).value_or(Dim::Unknown());
  n.SetShape(0, Shape{q[0], q[1], heads * width});
  const std::vector<Dim>* total = n.Integers(6);
  const auto& past = n.ShapeOf(3);
  const Dim rows = total != nullptr && total->size() == 1 ? total->front()
                   : past && past->rank() == 4            ? (*past)[2] + q[1]
                   : n.Has(3)                             ? Dim::Unknown()
                                                          : q[1];
  for (int i : {1, 2}) n.SetShape(i, Shape{q[0], kv_heads, rows, width});
}

// As MicrosoftAttention, with the type of the bias, and the past at 8.
void QAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 3 || n.ShapeOf(1)->rank() != 2) return;
  const Shape& x = *n.ShapeOf(0);
  const Dim hidden = FloorDivide((*n.ShapeOf(1))[1], 3), heads = n.Int("num_heads", 1);
  n.SetShape(0, Shape{x[0], x[1], hidden});
  n.SetShape(1, Shape{2, x[0], heads, Total(n, 8, 3, x[1]), Quotient(hidden, heads).value_or(Dim::Unknown())});
}

// query [B, 1, H], key and value alike or, across, [B, heads, L, d]; past at 5 and 6.
void DecoderMaskedMultiHeadAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 3) return;
  const Shape& q = *n.ShapeOf(0);
  const auto& v = n.ShapeOf(2);
  const bool across = v && v->rank() == 4;
  Dim width = across ? (*v)[1] * (*v)[3] : v && v->rank() == 3 ? (*v)[2] : FloorDivide(q[2], 3);
  n.SetShape(0, Shape{q[0], q[1], width});
  for (int i : {1, 2}) {
    const auto& past = n.ShapeOf(i + 4);
    if (!past || past->rank() != 4) continue;
    Shape present = *past;
    present[2] = Total(n, i + 4, 2, q[1]);
    n.SetShape(i, present);
  }
}

// Tokens of all sequences in a row: [T, H] in, [T, hidden of V] out.
void PackedAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(1)->rank() != 2) return;
  const std::vector<int64_t> sizes = n.Ints("qkv_hidden_sizes");
  n.SetShape(0, Shape{(*n.ShapeOf(0))[0], sizes.size() == 3 ? Dim(sizes[2]) : FloorDivide((*n.ShapeOf(1))[1], 3)});
}

void PackedMultiHeadAttention(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  const Shape& q = *n.ShapeOf(0);
  if (q.rank() == 4) return n.SetShape(0, Shape{q[0], q[1] * q[3]});
  if (n.ShapeOf(2) && n.ShapeOf(2)->rank() == 2) n.SetShape(0, Shape{q[0], (*n.ShapeOf(2))[1]});
}

// The caches come back as they are (past at 3 and 4); a query packed with K and V is wider than the output.
void CachedAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  const Dim heads = n.Int("num_heads", 1), kv_heads = n.Int("kv_num_heads", 1);
  if (!n.Has(1)) {
    const auto width = Quotient(out.FromEnd(1), heads + Dim(2) * kv_heads);
    out[out.rank() - 1] = width ? *width * heads : Dim::Unknown();
  }
  n.SetShape(0, out);
  for (int i : {1, 2}) {
    n.Out(i).shape = n.ShapeOf(i + 2);
    n.Out(i).type = n.In(i + 2).type;
  }
}

// [1, heads, queries, keys], as long as inputs 1 and 2 say.
void RelativePositionBias(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 2) return;
  n.SetShape(0, Shape{1, (*n.ShapeOf(0))[1], ScalarOf(n, 1), ScalarOf(n, 2)});
}

// query [B, S, heads*d] gives [B, heads, S, S]; packed queries are unpacked by token_offset [B, S].
void GatedRelativePositionBias(NodeInference& n) {
  const auto& rows = n.Has(6) ? n.ShapeOf(6) : n.ShapeOf(0);
  if (rows && rows->rank() >= 2) n.SetShape(0, Shape{(*rows)[0], n.Int("num_heads", 1), (*rows)[1], (*rows)[1]});
}

// [B, S, H] without its padding: as many rows as data says, at most B*S; where they were [B, S], where sequences begin
// [B + 1], the longest [1].
void RemovePadding(NodeInference& n) {
  for (int i = 1; i < n.outputs(); ++i) n.Out(i).type = DType::kInt32;
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() != 3) return;
  const Shape& x = *n.ShapeOf(0);
  n.SetShape(0, Shape{n.Undecided(x[0] * x[1]), x[2]});
  n.SetShape(1, Shape{x[0], x[1]});
  n.SetShape(2, Shape{x[0] + Dim(1)});
  n.SetShape(3, Shape{1});
}

void RestorePadding(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(1)->rank() != 2) return;
  n.SetShape(0, Shape{(*n.ShapeOf(1))[0], (*n.ShapeOf(1))[1], (*n.ShapeOf(0))[1]});
}

// emb, q, q_rot, k, k_rot: like q and k.
void GemmaRotaryEmbedding(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(1);
  n.Out(1).shape = n.ShapeOf(3);
}

constexpr RuleRow kMicrosoftAttentionRows[] = {
    {"Attention", MicrosoftAttention},
    {"DecoderMaskedMultiHeadAttention", DecoderMaskedMultiHeadAttention},
    {"DecoderMaskedSelfAttention", MicrosoftAttention},
    {"GatedRelativePositionBias", GatedRelativePositionBias},
    {"GemmaRotaryEmbedding", GemmaRotaryEmbedding, Type::kSecondInput},
    {"GroupQueryAttention", GroupQueryAttention},
    {"LongformerAttention", SameShape},
    {"MultiHeadAttention", MultiHeadAttention},
    {"PackedAttention", PackedAttention},
    {"PackedMultiHeadAttention", PackedMultiHeadAttention},
    {"PagedAttention", CachedAttention},
    {"QAttention", QAttention, Type::kThirdInput},
    {"RelativePositionBias", RelativePositionBias},
    {"RemovePadding", RemovePadding},
    {"RestorePadding", RestorePadding},
    {"RotaryEmbedding", SameShape},
    {"SparseAttention", CachedAttention},
};

}  // namespace

constinit const std::span<const RuleRow> kMicrosoftAttentionRules(kMicrosoftAttentionRows);

}  // namespace vramplan
