// Whole units: quotients and sizes rounded up.
//
//   DivideUp(7, 4)    2
//   RoundUp(7, 4)     8
//
// Of counts that are not negative, with a sum that stays within 63 bits.
#pragma once

#include <cstdint>

namespace vramplan {

constexpr int64_t DivideUp(int64_t count, int64_t unit) { return (count + unit - 1) / unit; }
constexpr int64_t RoundUp(int64_t count, int64_t unit) { return DivideUp(count, unit) * unit; }

}  // namespace vramplan
