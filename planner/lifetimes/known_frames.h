// Known frames: what forward functions of well-known modules call their values. A frame is known by what it calls its
// children, which both exporters write; a name lives until it is written anew, or as long as the frame.
//
//   children W_g W_x relu psi         g1 = W_g(g); x1 = W_x(x); psi = relu(g1 + x1); psi = psi(psi); return x * psi
//   names    "W_g", "W_x", "relu psi" g1 and x1 live to the end, relu's result until psi is called
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

void HoldKnownFrames(const Layers& layers, const Statements& statements, Holds& release);

}  // namespace vramplan
