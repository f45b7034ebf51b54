// Bytes: an amount of memory. Saturates instead of overflowing, so that a mistake can only make a plan not fit.
//
//   Bytes::MiB(20) + Bytes::Of(512)   == Bytes::Of(20'972'032)
//   ToString(Bytes::Of(20'972'032))   == "20.00 MiB"
//   ParseBytes("14.56GiB")            == 15'633'680'957 B (fractions are rounded down)
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "graph/base/check.h"
#include "graph/base/result.h"

namespace vramplan {

// a + b, a - b and a * b in 64 bits, stuck at the ends of the range instead of wrapping.
constexpr int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t r = 0;
  if (!__builtin_add_overflow(a, b, &r)) return r;
  return b > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}
constexpr int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t r = 0;
  if (!__builtin_sub_overflow(a, b, &r)) return r;
  return b < 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}
constexpr int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t r = 0;
  if (!__builtin_mul_overflow(a, b, &r)) return r;
  return (a > 0) == (b > 0) ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

class Bytes {
 public:
  constexpr Bytes() = default;
  static constexpr Bytes Of(int64_t count) { return Bytes(count); }
  static constexpr Bytes KiB(int64_t n) { return Bytes(SaturatingMultiply(n, int64_t{1} << 10)); }
  static constexpr Bytes MiB(int64_t n) { return Bytes(SaturatingMultiply(n, int64_t{1} << 20)); }
  static constexpr Bytes GiB(int64_t n) { return Bytes(SaturatingMultiply(n, int64_t{1} << 30)); }
  static constexpr Bytes Max() { return Bytes(std::numeric_limits<int64_t>::max()); }

  constexpr int64_t count() const { return count_; }

  constexpr Bytes& operator+=(Bytes b) { return *this = Bytes(SaturatingAdd(count_, b.count_)); }
  constexpr Bytes& operator-=(Bytes b) { return *this = Bytes(SaturatingSubtract(count_, b.count_)); }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return a += b; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return a -= b; }
  friend constexpr Bytes operator*(Bytes a, int64_t n) { return Bytes(SaturatingMultiply(a.count_, n)); }
  friend constexpr auto operator<=>(Bytes, Bytes) = default;

 private:
  explicit constexpr Bytes(int64_t count) : count_(count) {}
  int64_t count_ = 0;
};

// "0 B", "512 B", "1.50 KiB", "20.00 MiB", "14.56 GiB": the largest unit with at least one whole.
std::string ToString(Bytes bytes);

// Reads "123", "123B", "1.5KiB", "16 MiB", "14.56GiB" and the usual short forms K, M, G, KB, MB, GB (all binary, as
// CUDA tools use them). Errors: no number, unknown unit, negative, beyond 63 bits.
Result<Bytes> ParseBytes(std::string_view text);

}  // namespace vramplan
