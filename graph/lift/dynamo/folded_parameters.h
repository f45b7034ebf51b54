// Parameters that the exporter computed with, so that only a constant is left: the fx text names what made it, the
// graph signature lists parameters of the module that nothing names.
//
//   linear_1(%x, %p_qkv_weight, %cat_1)     in blocks.0.attn      ->  cat(q_bias, k_bias, v_bias) "cat_1"
//   mul_82(%mul_78, %add_105)               in input_layernorm    ->  add(weight, scalar) "add_105"
//   add_946(%mul_9, %index_5)               constant [4, 49, 196] ->  index(attention_biases, attention_bias_idxs)
//   linear_2(%x, %p_qkv_weight, %slice_scatter)                   ->  slice_scatter(clone(qkv.bias))
//   cat([%expand, %transpose], 1)           constant [1, 1, 192]  ->  expand(cls_token) "expand", [B, 1, 192]
#pragma once

#include <string>

#include "graph/lift/builder.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/signature.h"

namespace vramplan {

// The result of the layers that made `constant`, an operand of `user` called `name` there; they are added in front of
// `user`, or at `bias_position` when they make a window attention's position bias. Invalid: no parameter of the user's
// modules may be behind it.
ValueId LiftFoldedParameter(TensorId constant, const std::string& name, const FxGroup& user, NodeId bias_position,
                            LayerBuilder& builder, Signature& signature);

// The same for a linear's bias, of `length` elements, that was computed: as one of zeros it left no constant either.
ValueId LiftFoldedBias(const std::string& name, DType type, Dim length, const FxGroup& user, LayerBuilder& builder,
                       Signature& signature);

}  // namespace vramplan
