// Norms that other operators are made of.
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

// native_layer_norm over the last `normalized` axes. Weight and bias may be null.
Tensor LayerNorm(Eager& e, const Tensor& x, const Tensor& weight, const Tensor& bias, int normalized = 1);

}  // namespace vramplan::eager
