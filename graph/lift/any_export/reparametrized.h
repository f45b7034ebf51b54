// Weights that are made in front of each call, where the file still has how (constants of more than 2^18 elements are
// not folded; smaller ones: folded_parameters.h):
//
//   weight_norm(v, g)             mul(v, div(g, norm(v)))
//   spectral_norm(weight, u, v)   div(weight, dot(u, mv(weight as a matrix, v))), in training with one power iteration
//                                 in front (torch/nn/utils/spectral_norm.py, parametrizations.py, PyTorch 2.10); an
//                                 export of eval() by TorchScript stores the matrix beside the weight
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherReparametrized(Layers* layers);

}  // namespace vramplan
