// The operators of com.microsoft that ONNX Runtime's optimizer and quantizer put into files (ContribOperators.md of
// ONNX Runtime).
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// a, a_scale, a_zero_point, b, ...
void QuantizedBinary(NodeInference& n) {
  if (n.ShapeOf(0) && n.ShapeOf(3)) n.Out(0).shape = n.BroadcastShapes(*n.ShapeOf(0), *n.ShapeOf(3));
}

void MatMul(NodeInference& n) { MatMulOf(n, 0, 1); }

// MatMul after optional transposition of the last two axes.
void FusedMatMul(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  Shape a = *n.ShapeOf(0), b = *n.ShapeOf(1);
  if (a.rank() < 2 || b.rank() < 2 || n.Int("transBatchA", 0) != 0 || n.Int("transBatchB", 0) != 0) return;
  if (n.Int("transA", 0) != 0) std::swap(a[a.rank() - 1], a[a.rank() - 2]);
  if (n.Int("transB", 0) != 0) std::swap(b[b.rank() - 1], b[b.rank() - 2]);
  if (!n.Same(a.FromEnd(1), b.FromEnd(2))) return n.Fail(n.Describe(0) + " and " + n.Describe(1) + " do not multiply");
  const Dim rows = a.FromEnd(2), columns = b.FromEnd(1);
  for (Shape* s : {&a, &b}) {
    s->Remove(s->rank() - 1);
    s->Remove(s->rank() - 1);
  }
  auto out = n.BroadcastShapes(a, b);
  if (!out) return;
  out->Append(rows);
  out->Append(columns);
  n.SetShape(0, *out);
}

// A [.., K] with the weights packed, whose width is the attribute N.
void MatMulNBits(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  out[out.rank() - 1] = n.Int("N", 0);
  n.SetShape(0, out);
}

void FusedConv(NodeInference& n) { ConvOf(n, 0, 1); }

// input, skip, ...: output like the input, mean and deviation with the last axis 1, and the sum like the input.
void SkipLayerNormalization(NodeInference& n) {
  if (!n.ShapeOf(0)) return;
  Shape statistics = *n.ShapeOf(0);
  if (statistics.rank() > 0) statistics[statistics.rank() - 1] = 1;
  for (int i = 0; i < n.outputs(); ++i) n.SetShape(i, i == 1 || i == 2 ? statistics : *n.ShapeOf(0));
}

// input_ids [B, S], segment_ids, word_embedding [V, H]: output [B, S, H], mask index [B], sum [B, S, H].
void EmbedLayerNormalization(NodeInference& n) {
  n.Out(1).type = DType::kInt32;
  n.Out(0).type = n.Out(2).type = n.In(2).type;
  if (!n.ShapeOf(0) || !n.ShapeOf(2) || n.ShapeOf(0)->rank() != 2 || n.ShapeOf(2)->rank() != 2) return;
  const Shape& ids = *n.ShapeOf(0);
  const Shape out{ids[0], ids[1], (*n.ShapeOf(2))[1]};
  n.SetShape(0, out);
  n.SetShape(1, Shape{ids[0]});
  n.SetShape(2, out);
}

// input [B, S, I] and weights [I, 3H] (or qkv_hidden_sizes): output [B, S, H], present [2, B, heads, P + S, H/heads].
void Attention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || n.ShapeOf(0)->rank() != 3 || n.ShapeOf(1)->rank() != 2) return;
  const Shape& x = *n.ShapeOf(0);
  const std::vector<int64_t> sizes = n.Ints("qkv_hidden_sizes");
  const Dim hidden = sizes.size() == 3 ? Dim(sizes[2]) : FloorDivide((*n.ShapeOf(1))[1], 3);
  n.SetShape(0, Shape{x[0], x[1], hidden});
  const Dim heads = n.Int("num_heads", 1);
  const auto& past = n.ShapeOf(4);
  const Dim total = n.Has(4) ? (past && past->rank() == 5 ? (*past)[3] : Dim::Unknown()) + x[1] : x[1];
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
  const auto& past = n.ShapeOf(6);
  const Dim total = n.Has(6) ? (past && past->rank() == 4 ? (*past)[2] : Dim::Unknown()) + keys : keys;
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

void QuantizeLinear(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  n.Out(0).type = n.Has(2) ? n.In(2).type : DType::kUint8;
}

void BiasSplitGelu(NodeInference& n) {
  if (!n.ShapeOf(0) || n.ShapeOf(0)->rank() == 0) return;
  Shape out = *n.ShapeOf(0);
  out[out.rank() - 1] = FloorDivide(out.FromEnd(1), 2);
  n.SetShape(0, out);
}

constexpr RuleRow kRows[] = {
    {"Attention", Attention},
    {"BiasAdd", SameShape},
    {"BiasGelu", SameShape},
    {"BiasSoftmax", SameShape},
    {"BiasSplitGelu", BiasSplitGelu},
    {"DequantizeLinear", SameShape, Type::kSecondInput},
    {"DynamicQuantizeMatMul", MatMul},
    {"EmbedLayerNormalization", EmbedLayerNormalization, Type::kRule},
    {"FastGelu", SameShape},
    {"FusedConv", FusedConv},
    {"FusedGemm", Gemm},
    {"FusedMatMul", FusedMatMul},
    {"Gelu", SameShape},
    {"GroupNorm", SameShape},
    {"GroupQueryAttention", GroupQueryAttention},
    {"Inverse", SameShape},
    {"LayerNormalization", LayerNormalization},
    {"MatMulIntegerToFloat", MatMul, Type::kThirdInput},
    {"MatMulNBits", MatMulNBits},
    {"MultiHeadAttention", MultiHeadAttention},
    {"QLinearAdd", QuantizedBinary},
    {"QLinearLeakyRelu", SameShape},
    {"QLinearMul", QuantizedBinary},
    {"QLinearSigmoid", SameShape},
    {"QLinearSoftmax", SameShape},
    {"QuantizeLinear", QuantizeLinear, Type::kRule},
    {"QuickGelu", SameShape},
    {"RotaryEmbedding", SameShape},
    {"SimplifiedLayerNormalization", LayerNormalization},
    {"SkipGroupNorm", SkipLayerNormalization},
    {"SkipLayerNormalization", SkipLayerNormalization},
    {"SkipSimplifiedLayerNormalization", SkipLayerNormalization},
    {"TransposeMatMul", FusedMatMul},
    {"Trilu", SameShape},
};

}  // namespace

constinit const std::span<const RuleRow> kMicrosoftRules(kRows);

}  // namespace vramplan
