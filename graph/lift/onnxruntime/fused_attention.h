// Attention that ONNX Runtime's optimizer fused, as what PyTorch ran: torch's own function, or products and a softmax
// that were written out.
//
//   EmitAttention(q, k, v)   ->   heads of each; scaled_dot_product_attention or matmul, mul, add, softmax, matmul;
//                                 transpose, reshape
#pragma once

#include "graph/lift/onnxruntime/fused_parts.h"

namespace vramplan {

struct FusedAttention {
  Operand query, key, value;
  Shape queries, keys, values;  // [B, S, heads * d]; keys and values may be [B, heads, L, d] already
  int64_t heads = 0, kv_heads = 0;
  Operand past_key, past_value;  // [B, heads, P, d]
  Shape past;
  size_t present = 0;    // the node's output for the new keys; 0: none
  bool stacked = false;  // that one has the keys and the values
  double scale = 0;      // 0: 1 / sqrt(d)
  Operand mask;          // [.., S, L], added to the scores
  Shape mask_shape;
  bool masked = false;  // by a mask that is not known
  Operand bias;         // of positions, [.., heads, S, L], added to the scores
  bool causal = false;
  bool one_call = false;  // scaled_dot_product_attention
  // Rotary embedding: [.., S, d] each.
  Operand cosines, sines;
  int64_t rotary_width = 0;  // of the first columns of each head
};

// q * cos + rotate_half(q) * sin of x [B, heads, S, d] (modeling_llama.py 5.23, apply_rotary_pos_emb); where only the
// first columns turn, the others are put beside them again (modeling_phi.py).
Operand Rotated(FusedParts& parts, Operand x, const Shape& shape, const FusedAttention& a);

// False: its shapes are none of these, and nothing was made.
bool EmitAttention(PatternSource& source, NodeId root, FusedAttention attention);

// The same with what Attention and MultiHeadAttention say alike, and their mask [B, L].
bool EmitMasked(PatternSource& source, NodeId root, TensorId mask, FusedAttention attention);

// Whether the optimizer knows the export of torch's function: since version 1.21 (fusion_attention.py, pull request
// 22629). Hugging Face's models have called the function by default since before that.
bool KnowsOneCall(const PatternSource& source);

}  // namespace vramplan
