// A product with a stored matrix whose bias ONNX Runtime's optimizer moved into the node behind it: nn.Linear.
//
//   MatMul(x, w), BiasGelu(., b)                    ->  linear(x, w, b)
//   FusedMatMul<transA>(x, w), Add(b)               ->  linear(transpose(x), w, b)
#pragma once

#include "graph/lift/match/source.h"

namespace vramplan {

// linear(...) -> sum, where `product` is made by such a product and read by nobody else; false: it is none. `bias` is
// an operand, absent for none.
bool AddLinearBehind(PatternSource& source, TensorId product, Operand bias, NodeId user, Operand sum);
// The same with a stored tensor, or a plain sum where there is no such product.
void AddBias(PatternSource& source, TensorId product, TensorId bias, NodeId user, Operand sum);

}  // namespace vramplan
