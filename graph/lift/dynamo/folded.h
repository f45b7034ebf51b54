// What the exporter folded away and left traces of.
//
//   Conv (fx node: batch norm; weight "layer1.0.conv1.weight")    ->  conv2d in module layer1.0.conv1, then batch_norm
//   Add(attention, stored [1, 3, 49, 49] named "unsqueeze")       ->  index(relative_position_bias_table, ...) ..
//                                                                     unsqueeze
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "graph/layers/builder.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/signature.h"

namespace vramplan {

// Class names of modules by path, to name the frames of a convolution that lost its own.
using ClassByPath = std::unordered_map<std::string, std::string>;

// Where an operand is used, in front of which layers are added.
struct FxSite {
  const FxGroup& user;
  const ClassByPath& classes;
  LayerBuilder& builder;
  Signature& signature;
  const FxGroup* last = nullptr;  // the last user of an operand without a node; null: not asked
};

struct FoldedConvolution {
  std::string name;  // its fx name: "conv2d_3"
  ValueId result;    // invalid: there is none
};

// "a.b.c" -> frames of a, a.b where a call of them is known, or of a like member of their list, and a.b.c itself.
ModulePath PathOfModule(const std::string& module, const std::string& class_name, const ClassByPath& classes);

// Adds the convolution (or linear) in front of a folded batch norm; `input` is its data operand and `norm` the batch
// norm's result.
FoldedConvolution LiftFoldedConvolution(ValueId input, ValueId norm, const FxSite& at);

// When `constant`, an operand in the modules of the user, is what became of a window attention's relative position table,
// makes the layers that computed it and gives their result; else gives an invalid value.
ValueId LiftFoldedTable(TensorId constant, NodeId position, const FxSite& at);

// When `constant`, an operand called `name` in the modules of the user, is a parameter of the innermost one seen under
// other axes (layer scale: gamma.view(1, -1, 1, 1)), makes that view and gives it; else gives an invalid value. Such a
// constant may stand for several parameters of equal contents: each call takes the next one that no fx node names.
ValueId LiftFoldedView(TensorId constant, const std::string& name, const FxSite& at);

// The same for an operand of `user` that nothing of its name is left of, because its constant is equal to a parameter
// of another module and became that one: bias.view(1, C, 1, 1) of zeros, beside a scale of zeros that is [1, C, 1, 1].
// `inputs` is what `user` reads in the file, `refs` what it names.
ValueId LiftMergedView(const std::vector<TensorId>& inputs, const std::vector<std::string>& refs,
                       const std::string& name, const FxSite& at);

// --- folded_parameters.cc ---

// Parameters that the exporter computed with, so that only a constant is left: the fx text names what made it, the
// graph signature lists parameters of the module that nothing names.
//
//   linear_1(%x, %p_qkv_weight, %cat_1)     in blocks.0.attn      ->  cat(q_bias, k_bias, v_bias) "cat_1"
//   mul_82(%mul_78, %add_105)               in input_layernorm    ->  add(weight, scalar) "add_105"
//   add_946(%mul_9, %index_5)               constant [4, 49, 196] ->  index(attention_biases, attention_bias_idxs)
//   linear_2(%x, %p_qkv_weight, %slice_scatter)                   ->  slice_scatter(clone(qkv.bias))
//   cat([%expand, %transpose], 1)           constant [1, 1, 192]  ->  expand(cls_token) "expand", [B, 1, 192]
//
// The result of the layers that made `constant`, an operand of `user` called `name` there; they are added in front of
// `user`, or at `bias_position` when they make a window attention's position bias. Invalid: no parameter of the user's
// modules may be behind it.
//
// Where none of these forms is seen, but the file says which parameter it is, it is that one, under its one name for all
// that name it: the optimizer notes what it folded (pkg.onnxscript.optimizer.folded_from, onnxscript 0.7,
// optimizer/_constant_folding.py).
//
//   expand [47, 16, 320], folded from 'learner.ctx', 'unsqueeze_8' and numbers   ->  expand(learner.ctx)
ValueId LiftFoldedParameter(TensorId constant, const std::string& name, NodeId bias_position, const FxSite& at,
                            std::unordered_map<std::string, ValueId>* names);

// The same for a linear's bias, of `length` elements, that was computed: as one of zeros it left no constant either.
ValueId LiftFoldedBias(const std::string& name, DType type, Dim length, const FxSite& at);

// --- folded_matrices.cc ---

// Matrices that the exporter computed from several parameters, or from those of a module around the call that uses
// them. Of what made such a constant the file has the name of the last operator alone; that parameters are behind it,
// it shows by listing those that nothing names.
//
//   conv2d(%x, %unsqueeze_1)         in flow.invconv, which lists w_l, w_s, w_u   ->  reshape(mm(mm(w_l, w_s), w_u))
//   einsum('ncvl,vw->ncwl', [%x, %softmax])   in gconv.0.nconv; nodevec1, nodevec2 in the root
//                                                                                 ->  softmax(mm(nodevec1, nodevec2))
//   einsum(.., [%x, %mul_78])        in gcn.1; edge_importance.0 and .1 in the root
//                                                                                 ->  mul(edge_importance.1, number)
//
// The result of the layers that made `constant`, called `name` by `user`, from two or more parameters of the innermost
// module; they are added in front of `user`. Parameters of unknown shape are taken to be as large as the constant.
// Invalid: it is no matrix, or there are fewer.
ValueId LiftFoldedProduct(TensorId constant, const std::string& name, const FxSite& at);

// The same from parameters of the modules around `groups.groups[user]`, the innermost that has any; also from one of
// them. The layers stand in front of the call that the module makes, once for all that name it: `names` learns it.
ValueId LiftFoldedOutside(TensorId constant, const std::string& name, const FxGroups& groups, int32_t user,
                          const FxSite& at, std::unordered_map<std::string, ValueId>* names);

}  // namespace vramplan
