// Dim: the length of an axis, or a count of elements, as a polynomial of degree <= 2 in the batch B.
//
//   Dim::Batch() * Dim(12)            12*B        heads folded into the batch
//   (Dim::Batch() * Dim(197)).At(8)   1576
//   Dim::Unknown() + Dim(1)           unknown     (data decides; see Shapes for an upper bound)
//
// Exact integers. What leaves 63 bits or degree 2 becomes `overflow`, which Infer reports as an error, never a wrong
// number.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace vramplan {

class Dim {
 public:
  constexpr Dim() = default;
  constexpr Dim(int64_t constant) : c0_(constant) {}  // implicit: axis lengths are mostly plain numbers
  static constexpr Dim Polynomial(int64_t c0, int64_t c1, int64_t c2) {
    Dim d;
    d.c0_ = c0;
    d.c1_ = c1;
    d.c2_ = c2;
    return Told(d);
  }
  static constexpr Dim Batch() { return Polynomial(0, 1, 0); }
  static constexpr Dim Unknown() { return WithMark(kUnknown); }
  static constexpr Dim Overflow() { return WithMark(kOverflow); }

  constexpr bool known() const { return c2_ > kOverflow; }
  constexpr bool overflowed() const { return c2_ == kOverflow; }
  constexpr bool IsConstant() const { return c1_ == 0 && c2_ == 0; }
  constexpr bool Is(int64_t constant) const { return IsConstant() && c0_ == constant; }
  constexpr int64_t c0() const { return c0_; }
  constexpr int64_t c1() const { return c1_; }
  constexpr int64_t c2() const { return c2_; }

  // Value at B = batch, saturating. CHECKs that the dim is known.
  int64_t At(int64_t batch) const;

  friend Dim operator+(Dim a, Dim b);
  friend Dim operator-(Dim a, Dim b);
  friend Dim operator*(Dim a, Dim b);
  friend constexpr bool operator==(const Dim&, const Dim&) = default;

  // a / b when the division is exact as polynomials (12*B / B == 12, (B^2 + B) / (B + 1) == B); nothing otherwise.
  friend std::optional<Dim> DivideExactly(Dim a, Dim b);

 private:
  // Instead of a coefficient of B^2, in the one place: a large model has millions of these.
  static constexpr int64_t kUnknown = std::numeric_limits<int64_t>::min(), kOverflow = kUnknown + 1;
  static constexpr Dim WithMark(int64_t mark) {
    Dim d;
    d.c2_ = mark;
    return d;
  }
  // What was computed exactly, unless it is out of the range that the marks leave.
  static constexpr Dim Told(Dim d) { return d.known() ? d : Overflow(); }
  static Dim Worse(Dim a, Dim b);  // of two of which one is not known

  int64_t c0_ = 0, c1_ = 0, c2_ = 0;
};

// "12*B", "B + 1", "224", "?".
std::string ToString(Dim dim, const std::string& batch = "B");

}  // namespace vramplan
