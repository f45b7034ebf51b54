// _scaled_dot_product_flash_attention (cuda/flash_attn/flash_api.cpp): halves on capability 8.0 and newer, no mask.
#include <algorithm>
#include <cmath>
#include <vector>

#include "graph/base/round.h"
#include "planner/semantics/attention.h"
#include "planner/semantics/reduction.h"
#include "planner/semantics/view.h"

namespace vramplan::eager {
namespace {

int64_t RoundedWidth(int64_t width) { return width <= 192 ? RoundUp(width, 32) : 256; }

// num_splits_heuristic: with too few blocks for the card the keys are split; the fewest splits within 85 % of the best
// occupancy.
int64_t SplitsOf(int64_t blocks, int64_t multiprocessors, int64_t key_blocks) {
  if (static_cast<float>(blocks) >= 0.8f * static_cast<float>(multiprocessors)) return 1;
  const int64_t most = std::min<int64_t>({128, multiprocessors, key_blocks});
  const auto eligible = [&](int64_t n) { return n == 1 || DivideUp(key_blocks, n) != DivideUp(key_blocks, n - 1); };
  std::vector<float> efficiency;
  float best = 0;
  for (int64_t n = 1; n <= most; ++n) {
    const float waves = static_cast<float>(blocks * n) / static_cast<float>(multiprocessors);
    efficiency.push_back(eligible(n) ? waves / std::ceil(waves) : 0);
    best = std::max(best, efficiency.back());
  }
  for (int64_t n = 1; n <= most; ++n) {
    if (eligible(n) && efficiency[static_cast<size_t>(n - 1)] >= 0.85f * best) return n;
  }
  return 1;
}

// pad_last_dim<8>.
Tensor Padded(Eager& e, const Tensor& t) {
  const int64_t over = t->lengths[3] % 8;
  return over == 0 ? t : PadLast(e, t, 8 - over);
}

// mha_bwd.
void FlashBackward(GradContext& g) {
  Eager& e = g.e;
  OpScope scope(e, "aten::_flash_attention_backward");
  const Tensor key = Transpose(e, g.saved(0), 1, 2), query = Transpose(e, g.saved(1), 1, 2);
  const Tensor value = Transpose(e, g.saved(2), 1, 2);
  const Tensor grad = Contiguous(e, Transpose(e, g.grad(), 1, 2));
  const Tensor output = Contiguous(e, Transpose(e, g.saved(4), 1, 2));
  Tensor grad_query = e.EmptyLike(query), grad_key = e.EmptyLike(key), grad_value = e.EmptyLike(value);
  const int64_t rows = RoundUp(query->lengths[1], 128), width = RoundedWidth(query->lengths[3]);
  const Dim rounded_rows = query->sizes[1] + Dim(rows - query->lengths[1]);
  const Tensor softmax_sums = e.Empty(Shape{query->sizes[0], query->sizes[2], rounded_rows}, DType::kFloat32);
  {
    const Tensor accumulator =
        e.Empty(Shape{query->sizes[0], rounded_rows, query->sizes[2], Dim(width)}, DType::kFloat32);
    if (key->lengths[2] != query->lengths[2]) {  // shared key heads: gradients by query head, then summed
      Shape each = key->sizes;
      each[2] = query->sizes[2];
      const Tensor key_each = e.Empty(each, key->dtype), value_each = e.Empty(each, value->dtype);
      Shape groups = key->sizes;
      groups.Insert(3, DivideExactly(query->sizes[2], key->sizes[2]).value_or(Dim(1)));
      AllocateReduceScratch(e, *Reshape(e, key_each, groups), {3}, key->dtype);
      AllocateReduceScratch(e, *Reshape(e, value_each, groups), {3}, value->dtype);
    }
  }
  g.Set(0, Transpose(e, grad_query, 1, 2));
  g.Set(1, Transpose(e, grad_key, 1, 2));
  g.Set(2, Transpose(e, grad_value, 1, 2));
}

}  // namespace

Tensor FlashAttention(Eager& e, const AttentionCall& call) {
  const Tensor query = Padded(e, call.query), key = Padded(e, call.key), value = Padded(e, call.value);
  OpScope scope(e, "aten::_scaled_dot_product_flash_attention");
  const Tensor by_sequence =
      e.AsStrided(query, Shape{query->sizes[0], query->sizes[2], query->sizes[1], query->sizes[3]}, [&] {
        Ints strides = query->strides;
        std::swap(strides[1], strides[2]);
        return strides;
      }());
  const Tensor result = e.EmptyLike(by_sequence);
  Tensor log_sums = e.Empty(Shape{query->sizes[0], query->sizes[1], query->sizes[2]}, DType::kFloat32);
  const int64_t width = query->lengths[3];
  const int64_t key_block = width <= 64 ? 256 : (width <= 128 ? 128 : 64);
  Tensor sums_of_splits, outputs_of_splits;
  if (call.dropout == 0) {
    int64_t heads = query->lengths[1], rows = query->lengths[2];
    if (rows == 1 && heads > key->lengths[1]) {  // one position: the heads of a group are taken as positions
      rows = heads / key->lengths[1];
      heads = key->lengths[1];
    }
    const int64_t blocks = query->lengths[0] * heads * DivideUp(rows, 64);
    const int64_t splits = SplitsOf(blocks, 2 * e.spec().multiprocessors, DivideUp(key->lengths[2], key_block));
    if (splits > 1) {
      Shape sizes{Dim(splits), query->sizes[0], query->sizes[1], query->sizes[2]};
      sums_of_splits = e.Empty(sizes, DType::kFloat32);
      sizes.Append(Dim(RoundedWidth(width)));
      outputs_of_splits = e.Empty(sizes, DType::kFloat32);
    }
  }
  Tensor generator_state = e.Empty(Shape{Dim(2)}, DType::kUint64);
  Tensor unused = e.Empty(Shape(), DType::kUint64);
  if (call.dropout > 0) generator_state = e.Empty(Shape{Dim(2)}, DType::kUint64);
  sums_of_splits = Tensor();
  outputs_of_splits = Tensor();
  Tensor out = Transpose(e, e.Alias(result), 1, 2);
  if (GradNode* node = e.Record("ScaledDotProductFlashAttentionBackward0", {query, key, value}, {out})) {
    node->Save(key).Save(query).Save(value);
    node->Save(log_sums).SaveOutput(out).Save(generator_state).Save(unused);
    node->Backward(FlashBackward);
  }
  log_sums = Tensor();
  generator_state = Tensor();
  unused = Tensor();
  const int64_t real = call.query->lengths[3];  // post_process_flash_output
  return real == width ? out : Slice(e, out, 3, call.query->sizes[3], 1);
}

}  // namespace vramplan::eager
