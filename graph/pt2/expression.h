// Lengths as torch.export writes them: sympy's srepr (torch/_export/serde/serialize.py since 2.7), and plain text before.
//
//   "Mul(Integer(4), Symbol('s77', positive=True, integer=True))"     (4)*(s77)
//   "FloorDiv(Symbol('s1'), Integer(2))"                               (s1)//(2)
//   "4*s0"                                                             4*s0
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

// The same length as graph/shapes/symbols.h reads it; a function that is not known stays as it is, and has no value
// there. At most 64 levels deep; "?" beyond.
std::string PlainLength(std::string_view text);

}  // namespace vramplan
