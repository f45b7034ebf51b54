// Detached: tensors that the code takes out of the graph of gradients, x.detach(), which leaves no node in a
// TorchScript file. What is computed shows it:
//
//   add(x, sub(y, x))                    y with the gradient of x: the straight-through estimator of values that were
//                                        rounded or looked up (VQ-VAE, arXiv 1711.00937, section 3.2;
//                                        lucidrains/vector-quantize-pytorch, vector_quantize_pytorch.py, 1.0)
//   exp(sub(x, index_select(m, i)))      m, the greatest of x by index: torch_geometric's softmax over the edges of a
//                                        node, which takes it from x.detach() (utils/_softmax.py, 2.6)
//
// and x - x.max() in front of an exponential may be either: OtherReadings asks it.
#pragma once

#include <set>
#include <utility>

#include "graph/layers/layers.h"

namespace vramplan {

void DetachStraightThrough(Layers* layers);

// After GatherReductionsByIndex.
void DetachSoftmaxByIndex(Layers* layers);

// {place, operand} of each x - max(x) whose maximum nothing says to be detached.
using Operands = std::set<std::pair<size_t, size_t>>;
Operands SubtractedMaxima(const Layers& layers);
// Puts detach in front of these operands.
void Detach(const Operands& operands, Layers* layers);

}  // namespace vramplan
