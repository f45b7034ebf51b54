// Reductions by index that leave out what they are written into: scatter_reduce_(dim, index, src, "amax",
// include_self=False) on new zeros, as torch_geometric takes the greatest of each node's edges. TorchScript's exporter
// knows no include_self=False, so that library writes two reductions where it is exported (utils/_scatter.py, 2.6):
//
//   scatter_reduce(scatter_reduce(zeros, index, expand(min(src))), index, src)   -> scatter_reduce_(zeros, index, src)
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherReductionsByIndex(Layers* layers);

}  // namespace vramplan
