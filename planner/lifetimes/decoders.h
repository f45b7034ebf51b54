// Decoders: where maps of two sizes meet in feature pyramids, which have names for both.
//
//   lateral = self.inner(x[i]); top_down = F.interpolate(last); last = lateral + top_down    until the next turn
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

void HoldDecoders(const Layers& layers, const Statements& statements, Holds& release);

}  // namespace vramplan
