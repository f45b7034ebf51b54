// Noise: torchvision's StochasticDepth and timm's DropPath make noise like what they multiply with it, and scale it in
// place:
//
//   noise = torch.empty(shape, dtype=input.dtype); noise.bernoulli_(p); noise.div_(p); return input * noise
//
// A file in fp32 says neither: under autocast an fp32 noise would make the product, and all behind it, fp32. Nor does
// an export in training mode say that evaluation does none of it ("if not self.training: return x").
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Gives a bernoulli without an input the tensor that its noise multiplies as second input (whose type it takes), and
// marks the division between them as in place. Noise of one number per sample, its division and its product get
// "skipped-in-evaluation": which of its inputs each of them then hands on.
void TypeNoise(Layers* layers);

}  // namespace vramplan
