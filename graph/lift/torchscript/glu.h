// GLU: TorchScript writes nn.GLU and F.glu as Split, Sigmoid and Mul; eager runs one glu, which keeps its input only.
//
//   a, b = split(x); mul(a, sigmoid(b))   ->   glu(x)
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Where the halves and the sigmoid have no other reader; not in layers that provenance named.
void GatherGlu(Layers* layers);

}  // namespace vramplan
