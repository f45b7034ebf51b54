// The straight-through estimator: values that were rounded or looked up, with the gradient of what they came from. A
// detach leaves no node in a TorchScript file, but nobody adds to x what y lacks of it for another reason (VQ-VAE,
// arXiv 1711.00937, section 3.2; lucidrains/vector-quantize-pytorch's vector_quantize_pytorch.py, 1.0):
//
//   add(x, sub(y, x))                                        ->  add(x, detach(sub(y, x)))
//   add(x, sub(rounded, reshape(x))) through views, too
#pragma once

#include "graph/lift/layers.h"

namespace vramplan {

void DetachStraightThrough(Layers* layers);

}  // namespace vramplan
