#include "graph/ir/dim.h"

#include "graph/base/bytes.h"
#include "graph/base/check.h"

namespace vramplan {

Dim Dim::Worse(Dim a, Dim b) {
  return a.state_ == State::kOverflow || b.state_ == State::kOverflow ? Overflow() : Unknown();
}

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
  return r;
}

Dim operator-(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Worse(a, b);
  Dim r;
  if (__builtin_sub_overflow(a.c0_, b.c0_, &r.c0_) || __builtin_sub_overflow(a.c1_, b.c1_, &r.c1_) ||
      __builtin_sub_overflow(a.c2_, b.c2_, &r.c2_)) {
    return Dim::Overflow();
  }
  return r;
}

Dim operator*(Dim a, Dim b) {
  if (!a.known() || !b.known()) return Dim::Worse(a, b);
  Dim r;
  if (a.IsConstant() && b.IsConstant()) {  // the common case
    return __builtin_mul_overflow(a.c0_, b.c0_, &r.c0_) ? Dim::Overflow() : r;
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
  return r;
}

std::optional<Dim> DivideExactly(Dim a, Dim b) {
  if (!a.known() || !b.known()) return std::nullopt;
  if (a.Is(0) && !b.Is(0)) return Dim(0);
  // b = k * B^j is the only divisor that shapes have: a batch, or a number.
  const int terms = (b.c0_ != 0) + (b.c1_ != 0) + (b.c2_ != 0);
  if (a == b && terms > 0) return Dim(1);
  if (terms != 1) {
    // (c * p) / p for a polynomial p of several terms: the constant ratio, when there is one.
    if (terms == 0) return std::nullopt;
    const int64_t lead_a = b.c2_ != 0 ? a.c2_ : a.c1_, lead_b = b.c2_ != 0 ? b.c2_ : b.c1_;
    if (lead_b == 0 || lead_a % lead_b != 0) return std::nullopt;
    const Dim ratio(lead_a / lead_b);
    return ratio * b == a ? std::optional<Dim>(ratio) : std::nullopt;
  }
  const int64_t k = b.c0_ != 0 ? b.c0_ : b.c1_ != 0 ? b.c1_ : b.c2_;
  if (k == -1 || a.c0_ % k != 0 || a.c1_ % k != 0 || a.c2_ % k != 0) return std::nullopt;
  if (b.c0_ != 0) return Dim::Polynomial(a.c0_ / k, a.c1_ / k, a.c2_ / k);
  if (b.c1_ != 0) return a.c0_ == 0 ? std::optional<Dim>(Dim::Polynomial(a.c1_ / k, a.c2_ / k, 0)) : std::nullopt;
  return a.c0_ == 0 && a.c1_ == 0 ? std::optional<Dim>(Dim(a.c2_ / k)) : std::nullopt;
}

std::string ToString(Dim dim, const std::string& batch) {
  if (dim.overflowed()) return "overflow";
  if (!dim.known()) return "?";
  std::string text;
  const auto term = [&](int64_t c, const std::string& power) {
    if (c == 0) return;
    if (!text.empty()) text += c < 0 ? " - " : " + ";
    const int64_t shown = text.empty() ? c : (c < 0 ? -c : c);
    if (power.empty()) {
      text += std::to_string(shown);
    } else if (shown == 1) {
      text += power;
    } else {
      text += std::to_string(shown) + "*" + power;
    }
  };
  term(dim.c2(), batch + "^2");
  term(dim.c1(), batch);
  term(dim.c0(), "");
  return text.empty() ? "0" : text;
}

}  // namespace vramplan
