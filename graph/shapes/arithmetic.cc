#include "graph/shapes/arithmetic.h"

#include <algorithm>
#include <limits>

namespace vramplan {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();

int64_t FloorOf(int64_t a, int64_t b) {  // b != 0, not kLowest / -1
  const int64_t quotient = a / b;
  return a % b != 0 && ((a < 0) != (b < 0)) ? quotient - 1 : quotient;
}

}  // namespace

std::optional<Dim> Quotient(Dim a, Dim b) {
  if (!a.known() || !b.known() || b.Is(0)) return std::nullopt;
  if (b.Is(-1)) {
    const Dim negated = Dim(0) - a;
    return negated.known() ? std::optional<Dim>(negated) : std::nullopt;
  }
  if (a.c0() == kLowest || a.c1() == kLowest || a.c2() == kLowest) return std::nullopt;  // -(2^63) / -1 has no value
  return DivideExactly(a, b);
}

Dim FloorDivide(Dim a, Dim b) {
  if (a.overflowed() || b.overflowed()) return Dim::Overflow();
  if (const auto exact = Quotient(a, b)) return *exact;
  if (!a.known() || !b.IsConstant() || b.Is(0) || b.Is(-1)) return Dim::Unknown();
  const int64_t k = b.c0();
  if (a.c1() % k != 0 || a.c2() % k != 0) return Dim::Unknown();
  return Dim::Polynomial(FloorOf(a.c0(), k), a.c1() / k, a.c2() / k);
}

Dim CeilDivide(Dim a, int64_t b) { return b > 0 ? FloorDivide(a + Dim(b - 1), Dim(b)) : Dim::Unknown(); }

Dim TruncatingDivide(Dim a, Dim b) {
  if (a.IsConstant() && b.IsConstant()) {
    if (b.c0() == 0 || (a.c0() == kLowest && b.c0() == -1)) return Dim::Unknown();
    return a.c0() / b.c0();
  }
  if (const auto exact = Quotient(a, b)) return *exact;
  return AlwaysAtLeast(a, 0) && AlwaysAtLeast(b, 1) ? FloorDivide(a, b) : Dim::Unknown();
}

Dim Modulo(Dim a, Dim b) {
  if (!b.IsConstant() || b.Is(0)) return Quotient(a, b) ? Dim(0) : Dim::Unknown();
  if (b.Is(-1) || b.Is(1)) return a.known() ? Dim(0) : Dim::Unknown();
  const int64_t k = b.c0();
  if (!a.known() || a.c1() % k != 0 || a.c2() % k != 0) return Dim::Unknown();
  const int64_t rest = a.c0() % k;
  return rest != 0 && ((rest < 0) != (k < 0)) ? rest + k : rest;
}

bool AlwaysAtLeast(Dim a, Dim b) {
  const Dim difference = a - b;
  if (!difference.known() || difference.c1() < 0 || difference.c2() < 0) return false;
  return difference.At(1) >= 0;
}

Dim Minimum(Dim a, Dim b) { return AlwaysAtLeast(b, a) ? a : AlwaysAtLeast(a, b) ? b : Dim::Unknown(); }
Dim Maximum(Dim a, Dim b) { return AlwaysAtLeast(a, b) ? a : AlwaysAtLeast(b, a) ? b : Dim::Unknown(); }

Dim BoundOfBoth(Dim a, Dim b) {
  if (const Dim larger = Maximum(a, b); larger.known() || !a.known() || !b.known()) return larger;
  return Dim::Polynomial(std::max(a.c0(), b.c0()), std::max(a.c1(), b.c1()), std::max(a.c2(), b.c2()));
}

Dim BoundOfQuotient(Dim a, Dim b) {
  if (!a.known() || !b.IsConstant() || b.c0() < 1) return Dim::Unknown();
  const auto up = [&](int64_t c) { return c / b.c0() + (c > 0 && c % b.c0() != 0 ? 1 : 0); };
  return Dim::Polynomial(up(a.c0()), up(a.c1()), up(a.c2()));
}

Dim Equals(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Unknown();
  if (a == b) return 1;
  if (AlwaysAtLeast(a, b + Dim(1)) || AlwaysAtLeast(b, a + Dim(1))) return 0;
  return Dim::Unknown();
}

Dim Less(Dim a, Dim b) {
  if (AlwaysAtLeast(b, a + Dim(1))) return 1;
  return AlwaysAtLeast(a, b) ? Dim(0) : Dim::Unknown();
}

std::optional<int64_t> BatchAt(Dim growing, int64_t length) {
  if (!growing.known() || growing.c1() <= 0 || growing.c2() != 0) return std::nullopt;
  const Dim rest = Dim(length) - Dim(growing.c0());
  if (!rest.known() || rest.c0() <= 0 || rest.c0() % growing.c1() != 0) return std::nullopt;
  return rest.c0() / growing.c1();
}

}  // namespace vramplan
