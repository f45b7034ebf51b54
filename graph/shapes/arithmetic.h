// Arithmetic on lengths that may hold the batch, as far as it is exact for every batch >= 1.
//
//   FloorDivide(12*B + 5, 12)   B          (the rest does not reach the next whole)
//   FloorDivide(B + 1, 2)       unknown    (not a polynomial)
//   AlwaysAtLeast(4*B, 4)       true       (the batch is at least 1)
//
// What is not a polynomial is Dim::Unknown(), never a rounded guess.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/ir/dim.h"

namespace vramplan {

// a / b when it is exact, for any divisor (DivideExactly alone refuses -1).
std::optional<Dim> Quotient(Dim a, Dim b);

// Largest whole number not above a / b. Unknown when that is not one polynomial for all batches, or when b is 0.
Dim FloorDivide(Dim a, Dim b);
Dim CeilDivide(Dim a, int64_t b);

// a / b as integer tensors divide (toward zero), and a mod b with the sign of b, as ONNX Mod has it with fmod=0.
Dim TruncatingDivide(Dim a, Dim b);
Dim Modulo(Dim a, Dim b);

// True when a >= b at every batch >= 1; false when it is not, or cannot be told.
bool AlwaysAtLeast(Dim a, Dim b);

// The smaller and the larger of two, when one of them is so at every batch.
Dim Minimum(Dim a, Dim b);
Dim Maximum(Dim a, Dim b);

// What is not exceeded, where exactness is not asked for: by either of two (9*B and 100: 9*B + 100), by a / b for a
// constant b >= 1 (9*B / 2: 5*B). Unknown when an operand is.
Dim BoundOfBoth(Dim a, Dim b);
Dim BoundOfQuotient(Dim a, Dim b);

// 1 or 0 as a Dim, unknown when it depends on the batch.
Dim Equals(Dim a, Dim b);
Dim Less(Dim a, Dim b);

// The batch n >= 1 at which a length that grows linearly is `length`: BatchAt(12*B, 96) == 8.
std::optional<int64_t> BatchAt(Dim growing, int64_t length);

}  // namespace vramplan
