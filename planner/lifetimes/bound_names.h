// BoundNames: which values of a forward must have had a name of their own, told by how they are used. A value without a
// name waits on Python's stack and dies with its consumer; a name keeps it until the frame ends or binds it anew.
//
//   x1, x2 = f(x), g(x); y = act(x1) * x2      act ran behind g: x1 waited beside x2, so it was a name
//   q, k, v = ...; attn = q @ k; attn @ v      what a product of two activations reads is written out in names
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

// Lets names live to the end of their frame: raises `release`, by value.
void HoldBoundNames(const Layers& layers, const Statements& statements, Holds& release);

}  // namespace vramplan
