// The icicle: who holds the memory at the peak. A tree of modules that unfolds as HTML does by itself, with a bar for
// each; the page's script draws an icicle of the same tree above it.
#pragma once

#include "planner/picture/held.h"
#include "planner/picture/markup.h"

namespace vramplan {

Markup DrawHeld(const HeldNode& root);

}  // namespace vramplan
