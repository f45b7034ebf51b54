// What the exporter folded away and left traces of.
//
//   Conv (fx node: batch norm; weight initializer "layer1.0.conv1.weight")    ->  conv2d in module layer1.0.conv1, then
//   batch_norm Add(attention, stored [1, 3, 49, 49] named "unsqueeze")                   ->
//   index(relative_position_bias_table, ...) .. unsqueeze
#pragma once

#include <string>
#include <vector>

#include "graph/lift/builder.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/signature.h"

namespace vramplan {

struct FoldedConvolution {
  std::string name;  // its fx name: "conv2d_3"
  ValueId result;    // invalid: there is none
};

// Class names of modules by path, to name the frames of a convolution that lost its own.
using ClassByPath = std::unordered_map<std::string, std::string>;

// "a.b.c" -> frames of a, a.b where a call of them is known, and a.b.c itself.
ModulePath PathOfModule(const std::string& module, const std::string& class_name, const ClassByPath& classes);

// Adds the convolution (or linear) in front of a folded batch norm; `input` is its data operand and `norm` the batch
// norm's result.
FoldedConvolution LiftFoldedConvolution(const FxGroup& group, ValueId input, ValueId norm, const ClassByPath& classes,
                                        LayerBuilder& builder, Signature& signature);

// When `constant`, an operand in the modules of `path`, is what became of a window attention's relative position table,
// makes the layers that computed it and gives their result; else gives an invalid value.
ValueId LiftFoldedTable(TensorId constant, const ModulePath& path, NodeId position, LayerBuilder& builder,
                        Signature& signature);

// When `constant`, an operand called `name` in the modules of `path`, is a parameter of the innermost one seen under
// other axes (layer scale: gamma.view(1, -1, 1, 1)), makes that view and gives it; else gives an invalid value. Such a
// constant may stand for several parameters of equal contents: each call takes the next one that no fx node names.
ValueId LiftFoldedView(TensorId constant, const std::string& name, const ModulePath& path, NodeId position,
                       LayerBuilder& builder, Signature& signature);

// The same for an operand of `user` that nothing of its name is left of, because its constant is equal to a parameter
// of another module and became that one: bias.view(1, C, 1, 1) of zeros, beside a scale of zeros that is [1, C, 1, 1].
// `inputs` is what `user` reads in the file, `refs` what it names.
ValueId LiftMergedView(const std::vector<TensorId>& inputs, const std::vector<std::string>& refs,
                       const std::string& name, const FxGroup& user, LayerBuilder& builder, Signature& signature);

}  // namespace vramplan
