#include "planner/semantics/fused_attention.h"

#include <algorithm>
#include <utility>

#include "planner/semantics/attention.h"
#include "planner/semantics/blas.h"
#include "planner/semantics/norm.h"
#include "planner/semantics/pointwise.h"
#include "planner/semantics/table.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

Tensor Norm(Eager& e, const Tensor& x, const Affine& norm) { return LayerNorm(e, x, norm.weight, norm.bias); }

// Where the kernels of attention do not take the heads: transform_bias_rescale_qkv writes the three by head, the scores
// are normalized where they lie, and the product takes the memory of the queries.
Tensor ByScores(Eager& e, const Tensor& x, const FusedAttention& call, Tensor* weights) {
  const Shape& s = x->sizes;
  const Dim heads(call.heads), width = DivideExactly(s[2], heads).value_or(s[2]);
  Tensor packed = Linear(e, x, call.in.weight, Tensor());
  const Tensor by_head = e.Empty(Shape{Dim(3) * s[0] * heads, s[1], width}, x->dtype);
  packed = Tensor();
  const Shape each{s[0] * heads, s[1], width};
  const Tensor query = Slice(e, by_head, 0, s[0] * heads, 1);
  Tensor scores = Bmm(e, query, Transpose(e, query, 1, 2));
  if (call.mask) {  // masked_softmax: the mask as flags, and scores of their own
    const Tensor flags = call.mask->dtype == DType::kBool ? call.mask : e.EmptyLike(call.mask, DType::kBool);
    scores = e.Empty(scores->sizes, scores->dtype);
  }
  if (call.weights == AttentionWeights::kNone) scores = Tensor();
  Tensor attended = Reshape(e, Transpose(e, Reshape(e, query, Shape{s[0], heads, s[1], width}), 1, 2), s);
  Tensor out = Linear(e, attended, call.out.weight, call.out.bias);
  attended = Tensor();
  if (call.weights == AttentionWeights::kAveraged) scores = e.Empty(Shape{s[0], s[1], s[1]}, x->dtype);  // qkt.sum(1)
  if (weights != nullptr) *weights = std::move(scores);
  return out;
}

}  // namespace

Tensor NativeMultiHeadAttention(Eager& e, const Tensor& x, const FusedAttention& call, Tensor* weights) {
  OpScope scope(e, "aten::_native_multi_head_attention");
  const Shape& s = x->sizes;
  const Dim width = DivideExactly(s[2], Dim(call.heads)).value_or(s[2]);
  const auto by_head = [&](const Tensor& t) {
    return Transpose(e, Reshape(e, t, Shape{s[0], s[1], Dim(call.heads), width}), 1, 2);
  };
  const Tensor probe = by_head(x);
  if (call.mask || !width.IsConstant() || width.c0() % 8 != 0 || call.weights != AttentionWeights::kNone ||
      ChooseAttention(e, {probe, probe, probe, {}}) == AttentionKernel::kMath)
    return ByScores(e, x, call, weights);
  const Tensor packed = Linear(e, x, call.in.weight, call.in.bias);
  const Tensor part = by_head(Slice(e, packed, 2, s[2], 1));
  const Tensor attended = ScaledDotProductAttention(e, {part, part, part, {}});
  return Linear(e, Reshape(e, Transpose(e, attended, 1, 2), s), call.out.weight, call.out.bias);
}

Tensor TransformerEncoderLayer(Eager& e, const Tensor& source, const FusedEncoderLayer& call) {
  OpScope scope(e, "aten::_transformer_encoder_layer_fwd");
  const Shape& s = source->sizes;
  Tensor x = source;
  if (call.norm_first) x = Norm(e, x, call.norm1);
  x = NativeMultiHeadAttention(e, x, call.attention);
  x = Add(e, x, source, true);
  if (!call.norm_first) x = Norm(e, x, call.norm1);
  const Tensor before = x;
  if (call.norm_first) x = Norm(e, x, call.norm2);
  {
    const Tensor rows = Reshape(e, x, Shape{s[0] * s[1], s[2]});
    Tensor hidden = Addmm(e, call.linear1.bias, rows, Transpose(e, call.linear1.weight, 0, 1));  // _addmm_activation
    Tensor out = Addmm(e, call.linear2.bias, hidden, Transpose(e, call.linear2.weight, 0, 1));
    hidden = Tensor();
    x = Reshape(e, out, s);
  }
  x = Add(e, x, before, true);
  if (!call.norm_first) x = Norm(e, x, call.norm2);
  return x;
}

namespace {

// Operands as native_functions.yaml 2.10 has them: query, key, value, weight and bias of both projections, mask. The
// module asks for it with one tensor as all three.
void RunNativeMultiHeadAttention(Call& c) {
  FusedAttention call{{c.In(3), c.In(4)}, {c.In(5), c.In(6)}, std::max<int64_t>(c.Int("num_heads", 1), 1)};
  call.mask = c.In(7);
  if (c.Int("need_weights", 1) != 0)
    call.weights = c.Int("average_attn_weights", 1) != 0 ? AttentionWeights::kAveraged : AttentionWeights::kEach;
  Tensor weights;
  Tensor out = NativeMultiHeadAttention(c.e, c.In(0), call, &weights);
  c.Return(std::move(out));
  if (c.outputs.size() > 1) c.Return(std::move(weights), 1);
}

// input, weight and bias of both projections, of both norms, of both products, mask.
void RunTransformerEncoderLayer(Call& c) {
  const auto affine = [&](size_t i) { return Affine{c.In(i), c.In(i + 1)}; };
  FusedEncoderLayer call{.attention = {affine(1), affine(3), std::max<int64_t>(c.Int("num_heads", 1), 1)},
                         .norm1 = affine(5),
                         .norm2 = affine(7),
                         .linear1 = affine(9),
                         .linear2 = affine(11),
                         .norm_first = c.Int("norm_first") != 0};
  call.attention.mask = c.In(13);
  c.Return(TransformerEncoderLayer(c.e, c.In(0), call));
}

}  // namespace

std::vector<OpRule> FusedAttentionRules() {
  return {{"native_multi_head_attention", RunNativeMultiHeadAttention},
          {"transformer_encoder_layer", RunTransformerEncoderLayer}};
}

}  // namespace vramplan::eager
