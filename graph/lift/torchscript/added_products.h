// Added products: torch.baddbmm(c, a, b) is one operator that makes one tensor; the TorchScript exporter writes four
// nodes (torch/onnx/symbolic_opset9.py 2.10, baddbmm):
//
//   add(mul(matmul(a, b), alpha), mul(c, beta))   ->   baddbmm(c, a, b)
//
// Code that writes such a sum by itself has no reason to write both factors.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void GatherAddedProducts(Layers* layers);

}  // namespace vramplan
