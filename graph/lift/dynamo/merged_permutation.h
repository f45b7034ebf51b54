// k.transpose(0, 1).transpose(-2, -1) is one Transpose under the last one's name: what is left of the first is in the
// node's permutation.
//
//   transpose_1(k)   Transpose perm 1 3 0 2   [T, B, C] -> ...     permute 1 3 0 2: no transpose of two axes
#pragma once

#include "graph/ir/graph.h"
#include "graph/programs/aten.h"

namespace vramplan {

// `from`, `to`: what the call reads and makes. Gives a transpose or permute the permutation of its node, where it is
// another one; not where only its own fits the shapes: then the node has parts of what is no view of the program's (the
// Transpose behind a write).
void TakeMergedPermutation(const Node& node, const Shape& from, const Shape& to, AtenCall* call);

}  // namespace vramplan
