// What torch.nn's attention modules call in inference instead of their Python: one operator for the module, which lets
// go of its parts as C++ does.
//
//   nn.MultiheadAttention(768, 12, batch_first=True)(x, x, x, need_weights=False), x [4, 197, 768], no gradient
//     +7'262'208 query, key and value at once; +2'420'736 attention; +2'420'736 projected; the first two die
//
// Sources: torch/nn/modules/activation.py and transformer.py (why_not_fast_path), aten/src/ATen/native/transformers/
// cuda/attention.cu (native_multi_head_attention_cuda) and transformer.cpp (transformer_encoder_layer_forward), 2.10.
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

struct Affine {
  Tensor weight, bias;
};

// need_weights, which nn.MultiheadAttention asks for unless it is told not to, and average_attn_weights.
enum class AttentionWeights : uint8_t { kNone, kAveraged, kEach };

struct FusedAttention {
  Affine in, out;  // in_proj, out_proj
  int64_t heads = 1;
  AttentionWeights weights = AttentionWeights::kNone;
  Tensor mask;  // null: none
};

struct FusedEncoderLayer {
  FusedAttention attention;
  Affine norm1, norm2, linear1, linear2;
  bool norm_first = false;
};

// Self-attention of x [batch, positions, width]. `weights`: where those that are asked for go.
Tensor NativeMultiHeadAttention(Eager& e, const Tensor& x, const FusedAttention& call, Tensor* weights = nullptr);
Tensor TransformerEncoderLayer(Eager& e, const Tensor& source, const FusedEncoderLayer& call);

}  // namespace vramplan::eager
