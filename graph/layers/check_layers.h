// BrokenInvariant: whether Layers are what graph/layers/layers.h says of them. Builds for development ask behind each pass
// of the lift, so that what breaks an invariant is found at the pass that does.
//
//   "conv2d_3 (silu) reads value 17, which relu_4 makes later"
#pragma once

#include <string>

#include "graph/layers/layers.h"

namespace vramplan {

// The first invariant that is broken, in words; empty: none is. Linear in the size of the layers.
//   - each id stands for something that there is
//   - a value is made by at most one layer, and what layers make is an activation
//   - no layer reads what a later one makes; what is returned or kept is made at all. What the host computed of sizes
//     and stored numbers is read, and made by no layer
//   - a module call stands behind the one around it, and [0] is the root
//   - names of layers are unique
//   - parameters and buffers are listed once
std::string BrokenInvariant(const Layers& layers);

}  // namespace vramplan
