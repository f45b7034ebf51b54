// _scaled_dot_product_efficient_attention (cuda/attention.cu, cuda/attention_backward.cu) with the CUTLASS kernels of
// cuda/mem_eff_attention: no square of the sequence, fp32 too, masks allowed.
#include <algorithm>

#include "graph/base/round.h"
#include "planner/semantics/attention.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

// preprocess_mask: the kernel wants rows of a multiple of 8 elements; the mask is padded and seen through a slice, then
// broadcast.
Tensor Prepared(Eager& e, const Tensor& mask, const AttentionCall& call) {
  constexpr int64_t kAlignment = 8;
  Tensor result = mask;
  bool aligned = mask->strides[mask->dim() - 1] == 1;
  for (int i = 0; i + 1 < mask->dim(); ++i) aligned = aligned && mask->strides[i] % kAlignment == 0;
  if (!aligned) {
    const int last = mask->dim() - 1;
    result = Slice(e, PadLast(e, mask, kAlignment - mask->lengths[last] % kAlignment), last, mask->sizes[last], 1);
  }
  return Expand(e, result, Shape{call.query->sizes[0], call.query->sizes[1], call.query->sizes[2], call.key->sizes[2]});
}

Shape BySequence(const Tensor& t) { return Shape{t->sizes[0], t->sizes[2], t->sizes[1], t->sizes[3]}; }

// _efficient_attention_backward.
void EfficientBackward(GradContext& g, bool dropout) {
  Eager& e = g.e;
  OpScope scope(e, "aten::_efficient_attention_backward");
  const Tensor &mask = g.saved(0), &key = g.saved(1), &query = g.saved(2), &value = g.saved(3), &output = g.saved(5);
  const DType type = query->dtype;
  const Tensor grad = Contiguous(e, Transpose(e, g.grad(), 1, 2));
  Tensor grad_query = e.Empty(BySequence(query), type);
  Tensor grad_key = e.Empty(BySequence(key), type);
  Tensor grad_value = e.Empty(BySequence(value), type);
  Tensor grad_mask;
  if (g.Needs(3)) {  // rows of a multiple of 16
    const Dim last = mask->sizes[3];
    Shape sizes = mask->sizes;
    sizes[3] = sizes[3] + Dim(RoundUp(mask->lengths[3], 16) - mask->lengths[3]);
    grad_mask = Slice(e, e.Empty(sizes, mask->dtype), 3, last, 1);
  }
  Storage workspace;
  {
    Tensor delta;        // sums of grad * output by row
    if (IsHalf(type)) {  // by the kernel
      delta = e.Empty(Shape{query->sizes[0], query->sizes[1], query->sizes[2]}, DType::kFloat32);
    } else {
      const Tensor product = e.EmptyLike(grad);
      const Tensor sums = SumKernel(e, product, {3}, false);
      delta = Contiguous(e, Transpose(e, sums, -2, -1));
    }
    const int64_t width = std::max(query->lengths[3], value->lengths[3]);
    workspace = e.Scratch(EfficientWorkspace(TilesOf(e.spec().capability, type, width, dropout),
                                             query->lengths[0] * query->lengths[1], query->lengths[2], key->lengths[2],
                                             query->lengths[3], value->lengths[3]));
  }
  g.Set(0, Transpose(e, grad_query, 1, 2));
  g.Set(1, Transpose(e, grad_key, 1, 2));
  g.Set(2, Transpose(e, grad_value, 1, 2));
  g.Set(3, std::move(grad_mask));
  static_cast<void>(output);
}

}  // namespace

// The list of kernels in cuda/mem_eff_attention/kernels/cutlassB.h: the first whose width and shared memory suffice.
// Measured with PyTorch 2.10 at capabilities 7.5, 8.0, 8.6, 9.0 for widths 8 to 256.
EfficientTiles TilesOf(Capability capability, DType type, int64_t width, bool dropout) {
  if (width <= 64) return {64, 64, false};
  const bool half = IsHalf(type);
  const bool ampere = capability >= Capability{8, 0};
  const bool ada = capability == Capability{8, 6} || capability == Capability{8, 9};
  const bool small = ada || capability.major == 12;  // 99 KiB of shared memory for a block
  if (!half) return {ampere && !small ? 128 : 64, 64, false};
  if (width > 128) return {128, 64, true};
  if (!ampere) return {128, 64, false};
  if (ada && width <= 96 && !dropout) return {128, 64, false};
  if (small) return {64, 64, true};
  return {128, 128, false};
}

// Params::workspace_size of kernel_backward.h; gradients of queries are summed in tiles of fp32 behind a lock.
Bytes EfficientWorkspace(const EfficientTiles& tiles, int64_t batch_heads, int64_t queries, int64_t keys, int64_t width,
                         int64_t value_width) {
  int64_t splits = DivideUp(keys, tiles.keys);
  if (batch_heads >= 256 && keys <= 2 * tiles.keys) splits = 1;
  if (tiles.accumulates_key_gradients) splits = std::min(splits, 200 / std::max<int64_t>(batch_heads, 1));
  splits = std::max<int64_t>(splits, 1);
  int64_t elements = DivideUp(queries, tiles.queries) * DivideUp(width, tiles.keys) * (4 + tiles.queries * tiles.keys);
  if (tiles.accumulates_key_gradients) {
    elements += splits * tiles.keys * (RoundUp(width, tiles.queries) + RoundUp(value_width, tiles.queries));
  }
  return Bytes::Of(SaturatingMultiply(batch_heads, RoundUp(elements, 4) * 4));
}

Tensor EfficientAttention(Eager& e, AttentionCall call) {
  if (call.mask) call.mask = Prepared(e, call.mask, call);  // the mask as given is let go here
  OpScope scope(e, "aten::_scaled_dot_product_efficient_attention");
  const Tensor &query = call.query, &key = call.key, &value = call.value;
  const bool trains = e.grad_mode && (query->tracked() || key->tracked() || value->tracked());
  // The generator's seed and offset, which without dropout say nothing: on the host in 2.10, on the card in 2.15
  // (measured; between the two unverified).
  constexpr Framework kSeedOnCard{2, 15};
  Tensor seed, offset;
  if (e.spec().framework >= kSeedOnCard && call.dropout == 0) {
    seed = e.Empty(Shape(), DType::kInt64);
    offset = e.Empty(Shape(), DType::kInt64);
  }
  const Tensor result =
      e.Empty(Shape{query->sizes[0], query->sizes[2], query->sizes[1], value->sizes[3]}, query->dtype);
  Tensor log_sums;
  if (trains) {  // rows rounded up to 32 (kAlignLSE)
    const Dim rows = query->sizes[2] + Dim(RoundUp(query->lengths[2], 32) - query->lengths[2]);
    log_sums = e.Empty(Shape{query->sizes[0], query->sizes[1], rows}, DType::kFloat32);
  }
  if (IsHalf(query->dtype) && value->lengths[3] > 128) {  // kNeedsOutputAccumulatorBuffer
    const Tensor accumulator = e.Empty(result->sizes, DType::kFloat32);
  }
  Tensor out = Transpose(e, e.Alias(result), 1, 2);
  if (GradNode* node = e.Record("ScaledDotProductEfficientAttentionBackward0", {query, key, value, call.mask}, {out})) {
    node->Save(call.mask).Save(key).Save(query).Save(value);
    node->Save(log_sums).SaveOutput(out).Save(offset).Save(seed);
    node->Backward([dropout = call.dropout > 0](GradContext& g) { EfficientBackward(g, dropout); });
  }
  return out;
}

}  // namespace vramplan::eager
