// Growth: the law by which bytes grow with a length: linear, quadratic, in steps, and the coefficient, found from the
// bytes at a few lengths and checked at all of them.
//
//   sequence 128 256 512 1024   4, 10, 28, 88 MiB      quadratic: 64 B for each further length², 16 KiB for each one
//
// Invariant: a law that is named gives each value from `from` on within 1 % of the range.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/bytes.h"

namespace vramplan {

enum class Growth : uint8_t { kNone, kLinear, kQuadratic, kSteps, kOther };

struct GrowthLaw {
  Growth growth = Growth::kOther;
  int64_t from = 0;               // the law holds from this length on; below it something else is larger
  double linear = 0, square = 0;  // bytes for each further one, and for each further one squared
};

struct GrowthPoint {
  int64_t length = 0;
  Bytes bytes;
};

// `points`: lengths rise. Fewer than three lengths have no law (kOther), but equal bytes.
GrowthLaw LawOf(const std::vector<GrowthPoint>& points);

}  // namespace vramplan
