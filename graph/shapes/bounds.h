// Bounds: what data decides, taken as the longest that it can be.
//
//   NonZero(x [B, 9])    [2, ?]    after TakeBounds [2, 9*B], with the note "upper-bound"
//                                  with --dim NAME:1=40 [2, 40], in either case
#pragma once

#include "graph/shapes/infer.h"

namespace vramplan {

// After this, Infer gives bounds for lengths that data decides, where there are any: what a plan needs, which must not
// be exceeded. Without it such lengths are unknown: what a reader of the file wants to know.
void TakeBounds(Binding* binding);
bool TakesBounds(const Binding& binding);
Binding WithoutBounds(Binding binding);

}  // namespace vramplan
