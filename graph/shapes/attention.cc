// Attention of the standard domain (Attention, RotaryEmbedding: opset 23; LinearAttention, CausalConvWithState: 27) and
// of ai.onnx.preview (FlexAttention).
#include "graph/shapes/arithmetic.h"
#include "graph/shapes/rule.h"

namespace vramplan {
namespace {

// Q, K, V as [B, heads, S, d] or [B, S, heads*d] with the head counts as attributes; past K and V as [B, heads, P, d].
// Y looks like Q with V's width; present K and V hold P + S rows; the fourth output is the score matrix [B, heads, S, P
// + S].
void Attention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(1) || !n.ShapeOf(2)) return;
  const Shape& q = *n.ShapeOf(0);
  const Shape& k = *n.ShapeOf(1);
  const Shape& v = *n.ShapeOf(2);
  if ((q.rank() != 3 && q.rank() != 4) || k.rank() != q.rank() || v.rank() != q.rank()) {
    return n.Fail("it attends with " + n.Describe(0) + ", " + n.Describe(1) + ", " + n.Describe(2));
  }
  const bool flat = q.rank() == 3;
  const Dim heads = flat ? Dim(n.Int("q_num_heads", 0)) : q[1];
  const Dim kv_heads = flat ? Dim(n.Int("kv_num_heads", 0)) : k[1];
  if (heads.Is(0) || kv_heads.Is(0)) return n.Fail("it has no q_num_heads and kv_num_heads for inputs of 3 axes");
  const auto width = [&](const Shape& s, Dim count) {
    return flat ? Quotient(s[2], count).value_or(Dim::Unknown()) : s[3];
  };
  const Dim rows = flat ? q[1] : q[2], keys = flat ? k[1] : k[2];
  const Dim key_width = width(k, kv_heads), value_width = width(v, kv_heads);
  const auto& past = n.ShapeOf(4);
  const Dim total = n.Has(4) ? (past && past->rank() == 4 ? (*past)[2] : Dim::Unknown()) + keys : keys;
  n.SetShape(0, flat ? Shape{q[0], rows, heads * value_width} : Shape{q[0], heads, rows, value_width});
  n.SetShape(1, Shape{k[0], kv_heads, total, key_width});
  n.SetShape(2, Shape{k[0], kv_heads, total, value_width});
  n.SetShape(3, Shape{q[0], heads, rows, total});
}

// Query [B, T, heads*d], key [B, T, kv_heads*d], value [B, T, kv_heads*v] give [B, T, heads*v] and the state [B,
// kv_heads, d, v], whose type is that of the past state where there is one (onnx LinearAttention-27).
void LinearAttention(NodeInference& n) {
  if (n.Has(3)) n.Out(1).type = n.In(3).type;
  if (!n.ShapeOf(0) || !n.ShapeOf(2)) return;
  const Shape& q = *n.ShapeOf(0);
  const Shape& v = *n.ShapeOf(2);
  const int64_t heads = n.Int("q_num_heads", 0), kv_heads = n.Int("kv_num_heads", 0);
  if (q.rank() != 3 || v.rank() != 3 || heads < 1 || kv_heads < 1)
    return n.Fail("it attends with " + n.Describe(0) + " and " + n.Describe(2) + " in " + std::to_string(heads) +
                  " and " + std::to_string(kv_heads) + " heads");
  const Dim width = Quotient(q[2], heads).value_or(Dim::Unknown());
  const Dim value_width = Quotient(v[2], kv_heads).value_or(Dim::Unknown());
  n.SetShape(0, Shape{q[0], q[1], Dim(heads) * value_width});
  n.SetShape(1, Shape{q[0], kv_heads, width, value_width});
}

// X [B, C, length] and the kernel [C, 1, k]: like X, and the last k - 1 positions (onnx CausalConvWithState-27).
void CausalConvWithState(NodeInference& n) {
  n.Out(0).shape = n.ShapeOf(0);
  if (!n.ShapeOf(0) || !n.ShapeOf(1)) return;
  const Shape& x = *n.ShapeOf(0);
  if (x.rank() != 3 || n.ShapeOf(1)->rank() != 3)
    return n.Fail(n.Describe(1) + " is not a kernel for " + n.Describe(0));
  n.SetShape(1, Shape{x[0], x[1], n.ShapeOf(1)->FromEnd(1) - Dim(1)});
}

// Q, K, V as [B, heads, S, d]: as Q with the width of V.
void FlexAttention(NodeInference& n) {
  if (!n.ShapeOf(0) || !n.ShapeOf(2)) return;
  Shape out = *n.ShapeOf(0);
  if (out.rank() != 4 || n.ShapeOf(2)->rank() != 4)
    return n.Fail("it attends with " + n.Describe(0) + " and " + n.Describe(2));
  out[3] = (*n.ShapeOf(2))[3];
  n.SetShape(0, out);
}

constexpr RuleRow kAttentionRows[] = {
    {"Attention", Attention},
    {"CausalConvWithState", CausalConvWithState},
    {"LinearAttention", LinearAttention},
    {"RotaryEmbedding", SameShape},
};
constexpr RuleRow kPreview[] = {{"FlexAttention", FlexAttention}};

}  // namespace

constinit const std::span<const RuleRow> kAttentionRules(kAttentionRows);
constinit const std::span<const RuleRow> kPreviewRules(kPreview);

}  // namespace vramplan
