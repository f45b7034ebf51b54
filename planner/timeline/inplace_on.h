// InplaceOn: which layers `--inplace on` takes as in place: modules of activations that can be built with inplace=True
// (torch/nn/modules/activation.py), whose operand a layer made and nobody else reads.
//
//   conv2d -> relu in module "act"              in place
//   y = conv(x); relu(y) + y                    not: y is read again
//   F.relu(conv(x)) in the module of the conv   not: no module of its own
#pragma once

#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

// By layer.
std::vector<bool> CanBeInPlace(const Layers& layers);

}  // namespace vramplan
