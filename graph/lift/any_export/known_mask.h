// KnownMask: what an attention mask says when no input has a part in it: built from positions and constants only.
//
//   le(arange [1, 1, 1, 128], arange [1, 1, 128, 1])  [1, 1, 128, 128]     key <= query: causal
//   ge(arange [1, 1, 128, 1], 0) expanded to           [B, 1, 128, 128]     always true
//   the same and a window of 64: key > query - 64      [B, 1, 128, 128]     other
#pragma once

#include <cstdint>

#include "graph/layers/uses.h"

namespace vramplan {

enum class KnownMask : uint8_t { kUnknown, kAllTrue, kCausal, kOther };

// Of a mask of bools [..., queries, keys]. kUnknown: an input, a parameter or an operator without an arithmetic here
// takes part. A few rows are looked at whole (first, second, middle, last), not all.
KnownMask ReadMask(const Uses& uses, ValueId mask);

}  // namespace vramplan
