// In-place by line: the dynamo exporter makes every call functional, but keeps the source line, which says what wrote
// into its operand:
//
//   out += identity         add, in place        x.mul_(1 - alpha)       mul, in place
//   out = out + identity    add, not             x = a.add_(b) + c       two sums of one line: nobody knows which
//   return F.relu_(h)       relu, in place       F.silu(h, inplace=True) silu, in place
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Sets or takes back "inplace" of arithmetic and of activations where their line leaves no doubt; what a class says by
// habit (inplace.h) gives way.
void ReadInPlaceLines(Layers* layers);

}  // namespace vramplan
