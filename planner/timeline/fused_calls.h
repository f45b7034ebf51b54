// Fused calls: module calls that inference runs as one operator, although the file shows the Python that training runs
// (planner/semantics/fused_attention.h).
//
//   nn.MultiheadAttention, batch first, an even number of heads, one tensor as query, key and value, no mask or one of
//   booleans, which the module makes floats of first: zeros_like(mask).masked_fill_(mask, -inf)
//   nn.TransformerEncoderLayer around one without a mask, or with the padding mask of which nn.TransformerEncoder made
//   floats; with ReLU or GELU
#pragma once

#include <optional>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/semantics/fused_attention.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct AffineValues {
  ValueId weight, bias;
};

struct FusedCall {
  int first = 0, last = 0;  // layers
  ValueId input, output;
  ValueId mask;  // [positions, positions], or [batch, positions]; invalid: none
  AffineValues in_projection, out_projection;
  int64_t heads = 1;
  eager::AttentionWeights weights = eager::AttentionWeights::kNone;
  ValueId weights_output;  // that anyone reads
  struct EncoderLayer {
    AffineValues norm1, norm2, linear1, linear2;
    bool norm_first = false;
  };
  std::optional<EncoderLayer> encoder_layer;  // nothing: the attention alone
};

// In the order of their layers, none inside another. None for runs that record a gradient or cast by autocast: those
// take the Python (why_not_fast_path of torch/nn/modules/activation.py).
std::vector<FusedCall> FusedCallsOf(const Layers& layers, const TrainingSpec& spec);

}  // namespace vramplan
