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

// When `constant`, an operand called `name` in the modules of the user, is what became of a window attention's relative
// position table, makes the layers that computed it and gives their result; else gives an invalid value.
ValueId LiftFoldedTable(TensorId constant, const std::string& name, const FxSite& at);

}  // namespace vramplan
