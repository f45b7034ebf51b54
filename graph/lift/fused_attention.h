// Attention that ONNX Runtime's optimizer fused, as what PyTorch ran: torch's own function, or products and a softmax
// that were written out.
//
//   EmitAttention(q, k, v)   ->   heads of each; scaled_dot_product_attention or matmul, mul, add, softmax, matmul;
//                                 transpose, reshape
#pragma once

#include "graph/lift/fused_parts.h"

namespace vramplan {

struct FusedAttention {
  Operand query, key, value;
  Shape queries, keys, values;  // [B, S, heads * d]; keys and values may be [B, heads, L, d] already
  int64_t heads = 0, kv_heads = 0;
  TensorId past_key, past_value;  // [B, heads, P, d]
  size_t present = 0;             // the node's output for the new keys; 0: none
  double scale = 0;               // 0: 1 / sqrt(d)
  Operand mask;                   // [.., S, L], added to the scores
  Shape mask_shape;
  bool masked = false;  // by a mask that is not known
  Operand bias;         // of positions, [.., heads, S, L], added to the scores
  bool causal = false;
  bool one_call = false;  // scaled_dot_product_attention
  // Rotary embedding: [.., S, d] each.
  Operand cosines, sines;
};

// False: its shapes are none of these, and nothing was made.
bool EmitAttention(PatternSource& source, NodeId root, FusedAttention attention);

// Whether the optimizer took the attention from torch's function. Its BERT fusion knows that function's export since
// version 1.21 (fusion_attention.py, pull request 22629), only with a mask, whose lowest number it then keeps; Hugging
// Face's models have called the function by default since before that. Older files, files without that number, and
// those with a bias of positions (T5) were written out.
bool FromOneCall(const PatternSource& source, NodeId root, bool masked, bool biased);

// The mask [B, L] behind the operand `mask` of a fused node, as transformers make it of their attention_mask: once for
// all layers, [B, 1, 1, L], or with the rows of the scores for torch's function (modeling_attn_mask_utils.py 4.57).
void SetMask(PatternSource& source, TensorId mask, FusedAttention* attention);

}  // namespace vramplan
