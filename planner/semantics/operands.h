// Do the operands of a layer look as its operator's rule expects? A file may say anything; a layer that does not fit
// runs as an unknown operator, with a note, instead of ending the program.
//
//   bmm(a [4, 8, 16], b [8, 16])   b must have three axes: false
//   cat(x, y) dim=3, both [2, 8]   there is no axis 3: false
#pragma once

#include "planner/semantics/table.h"

namespace vramplan::eager {

bool OperandsFit(const Call& call);

}  // namespace vramplan::eager
