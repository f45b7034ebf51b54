// Attention of the standard domain (opset 23): Attention, RotaryEmbedding.
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

constexpr RuleRow kRows[] = {{"Attention", Attention}, {"RotaryEmbedding", SameShape}};

}  // namespace

constinit const std::span<const RuleRow> kAttentionRules(kRows);

}  // namespace vramplan
