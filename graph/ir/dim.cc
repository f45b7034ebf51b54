#include "graph/ir/dim.h"

#include <array>
#include <initializer_list>
#include <limits>
#include <utility>

#include "graph/base/bytes.h"
#include "graph/base/check.h"

namespace vramplan {

Dim Dim::Worse(Dim a, Dim b) { return a.overflowed() || b.overflowed() ? Overflow() : Unknown(); }

int64_t Dim::At(int64_t batch) const {
  CHECK(known());
  if (c1_ == 0 && c2_ == 0) return c0_;
  return SaturatingAdd(SaturatingMultiply(SaturatingAdd(SaturatingMultiply(c2_, batch), c1_), batch), c0_);
}

Dim operator+(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Worse(a, b);
  Dim r;
  if (__builtin_add_overflow(a.c0_, b.c0_, &r.c0_) || __builtin_add_overflow(a.c1_, b.c1_, &r.c1_) ||
      __builtin_add_overflow(a.c2_, b.c2_, &r.c2_)) {
    return Dim::Overflow();
  }
  return Dim::Told(r);
}

Dim operator-(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Worse(a, b);
  Dim r;
  if (__builtin_sub_overflow(a.c0_, b.c0_, &r.c0_) || __builtin_sub_overflow(a.c1_, b.c1_, &r.c1_) ||
      __builtin_sub_overflow(a.c2_, b.c2_, &r.c2_)) {
    return Dim::Overflow();
  }
  return Dim::Told(r);
}

Dim operator*(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Worse(a, b);
  Dim r;
  if (a.IsConstant() && b.IsConstant()) {  // the common case
    return __builtin_mul_overflow(a.c0_, b.c0_, &r.c0_) ? Dim::Overflow() : r;
  }
  if (b.IsConstant()) std::swap(a, b);
  if (a.IsConstant()) {  // the other one scaled
    const bool fits = !__builtin_mul_overflow(a.c0_, b.c0_, &r.c0_) && !__builtin_mul_overflow(a.c0_, b.c1_, &r.c1_) &&
                      !__builtin_mul_overflow(a.c0_, b.c2_, &r.c2_);
    return fits ? Dim::Told(r) : Dim::Overflow();
  }
  const bool degree_left = (a.c1_ != 0 && b.c2_ != 0) || (a.c2_ != 0 && b.c1_ != 0) || (a.c2_ != 0 && b.c2_ != 0);
  if (degree_left) return Dim::Overflow();
  const auto product_sum = [](std::initializer_list<std::pair<int64_t, int64_t>> terms, int64_t* out) {
    int64_t sum = 0;
    for (const auto& [x, y] : terms) {
      int64_t product = 0;
      if (__builtin_mul_overflow(x, y, &product) || __builtin_add_overflow(sum, product, &sum)) return false;
    }
    *out = sum;
    return true;
  };
  if (!product_sum({{a.c0_, b.c0_}}, &r.c0_) || !product_sum({{a.c0_, b.c1_}, {a.c1_, b.c0_}}, &r.c1_) ||
      !product_sum({{a.c0_, b.c2_}, {a.c1_, b.c1_}, {a.c2_, b.c0_}}, &r.c2_)) {
    return Dim::Overflow();
  }
  return Dim::Told(r);
}

// Long division from the highest power; every step must be exact in the integers.
std::optional<Dim> DivideExactly(Dim a, Dim b) {
  if (!a.known() || !b.known()) return std::nullopt;
  std::array<int64_t, 3> rest = {a.c0_, a.c1_, a.c2_};
  const std::array<int64_t, 3> divisor = {b.c0_, b.c1_, b.c2_};
  const int degree = b.c2_ != 0 ? 2 : b.c1_ != 0 ? 1 : 0;
  const int64_t lead = divisor[degree];
  if (lead == 0) return std::nullopt;
  std::array<int64_t, 3> quotient = {};
  for (int power = 2 - degree; power >= 0; --power) {
    const int64_t top = rest[power + degree];
    if (lead == -1 ? top == std::numeric_limits<int64_t>::min() : top % lead != 0) return std::nullopt;
    quotient[power] = top / lead;
    for (int i = 0; i <= degree; ++i) {
      int64_t product = 0;
      if (__builtin_mul_overflow(quotient[power], divisor[i], &product) ||
          __builtin_sub_overflow(rest[power + i], product, &rest[power + i])) {
        return std::nullopt;
      }
    }
  }
  if (rest != std::array<int64_t, 3>{}) return std::nullopt;
  return Dim::Polynomial(quotient[0], quotient[1], quotient[2]);
}

std::string ToString(Dim dim, const std::string& batch) {
  if (dim.overflowed()) return "overflow";
  if (!dim.known()) return "?";
  std::string text;
  const auto term = [&](int64_t c, const std::string& power) {
    if (c == 0) return;
    if (!text.empty()) text += c < 0 ? " - " : " + ";
    std::string shown = std::to_string(c);
    if (c < 0 && !text.empty()) shown.erase(0, 1);  // the sign is written
    text += power.empty() ? shown : shown == "1" ? power : shown + "*" + power;
  };
  term(dim.c2(), batch + "^2");
  term(dim.c1(), batch);
  term(dim.c0(), "");
  return text.empty() ? "0" : text;
}

}  // namespace vramplan
