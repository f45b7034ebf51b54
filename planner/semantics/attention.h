// Attention: softmax(q k^T) v by one of PyTorch's kernels. Which one runs decides whether the square of the sequence is
// in memory.
//
//   fp32 q, k, v [8, 12, 197, 64] from one linear layer (T4)
//     efficient   forward  +4'841'472 output, +86'016 log of the sums (rows rounded up to 32), both kept, q, k, v kept
//                 backward +4'841'472 x 3 gradients, then scratch
//     math        +14'902'656 for each of scores and probabilities
//
// Sources: aten/src/ATen/native/transformers/attention.cpp, cuda/sdp_utils.cpp, cuda/attention.cu,
// cuda/attention_backward.cu, cuda/flash_attn/flash_api.cpp, cuda/mem_eff_attention/kernel_backward.h (PyTorch 2.10).
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

struct AttentionCall {
  Tensor query, key, value;  // [batch, heads, positions, width]
  Tensor mask;               // null: none; bool or additive
  double dropout = 0;
  bool causal = false;
};

enum class AttentionKernel : uint8_t { kMath, kEfficient, kFlash };
// sdp::select_sdp_backend.
AttentionKernel ChooseAttention(const Eager& e, const AttentionCall& call);

// aten::scaled_dot_product_attention, on the tape.
Tensor ScaledDotProductAttention(Eager& e, const AttentionCall& call);

// By kernel. The mask is additive already.
Tensor MathAttention(Eager& e, const AttentionCall& call);
Tensor EfficientAttention(Eager& e, AttentionCall call);
Tensor FlashAttention(Eager& e, const AttentionCall& call);

// A mask of bools as one that is added: 0 where true, -inf elsewhere (convert_boolean_attn_mask). Null stays null.
Tensor AdditiveMask(Eager& e, const Tensor& mask, DType type);

// at::pad of the last axis with `by` zeros.
Tensor PadLast(Eager& e, const Tensor& t, int64_t by);

// Blocks of queries and keys that the backward of efficient attention works on; decides its workspace.
struct EfficientTiles {
  int64_t queries = 64, keys = 64;
  bool accumulates_key_gradients = false;  // halves that do not fit the registers are summed in memory as fp32
};
EfficientTiles TilesOf(Capability capability, DType type, int64_t width, bool dropout);
Bytes EfficientWorkspace(const EfficientTiles& tiles, int64_t batch_heads, int64_t queries, int64_t keys, int64_t width,
                         int64_t value_width);

}  // namespace vramplan::eager
