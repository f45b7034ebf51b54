#include "graph/ir/dim.h"

#include <doctest/doctest.h>

#include <limits>

namespace vramplan {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

Dim P(int64_t c0, int64_t c1, int64_t c2) { return Dim::Polynomial(c0, c1, c2); }
const Dim kB = Dim::Batch();
const Dim kUnknown = Dim::Unknown();
const Dim kOverflow = Dim::Overflow();

TEST_CASE("sums, differences and products of polynomials") {
  struct Row {
    Dim a, b, sum, difference, product;
  };
  for (const Row& row :
       {Row{3, 4, 7, -1, 12}, Row{kB, 12, P(12, 1, 0), P(-12, 1, 0), P(0, 12, 0)},
        Row{kB, kB, P(0, 2, 0), 0, P(0, 0, 1)}, Row{P(1, 1, 0), P(-1, 1, 0), P(0, 2, 0), 2, P(-1, 0, 1)},
        Row{P(1, 2, 3), 2, P(3, 2, 3), P(-1, 2, 3), P(2, 4, 6)},
        Row{P(0, 0, 1), kB, P(0, 1, 1), P(0, -1, 1), kOverflow}, Row{P(0, 0, 1), P(0, 0, 1), P(0, 0, 2), 0, kOverflow},
        Row{kMax, 1, kOverflow, kMax - 1, kMax}, Row{kMax, 2, kOverflow, kMax - 2, kOverflow},
        Row{kMin, 1, kMin + 1, kOverflow, kMin}, Row{P(0, kMax, 0), 2, P(2, kMax, 0), P(-2, kMax, 0), kOverflow},
        Row{kUnknown, 2, kUnknown, kUnknown, kUnknown}, Row{kUnknown, kOverflow, kOverflow, kOverflow, kOverflow},
        Row{kB, 0, kB, kB, 0}}) {
    CAPTURE(ToString(row.a));
    CAPTURE(ToString(row.b));
    CHECK(row.a + row.b == row.sum);
    CHECK(row.a - row.b == row.difference);
    CHECK(row.a * row.b == row.product);
    CHECK(row.b * row.a == row.product);
  }
}

TEST_CASE("exact division") {
  struct Row {
    Dim a, b;
    std::optional<Dim> quotient;
  };
  for (const Row& row : {Row{12, 4, Dim(3)},
                         Row{12, 5, {}},
                         Row{12, -4, Dim(-3)},
                         Row{12, -1, Dim(-12)},
                         Row{12, 0, {}},
                         Row{0, 0, {}},
                         Row{0, kB, Dim(0)},
                         Row{0, 7, Dim(0)},
                         Row{P(0, 12, 0), kB, Dim(12)},
                         Row{P(0, 12, 0), 3, P(0, 4, 0)},
                         Row{P(0, 12, 0), 5, {}},
                         Row{P(0, 12, 0), P(0, 12, 0), Dim(1)},
                         Row{P(0, 0, 6), kB, P(0, 6, 0)},
                         Row{P(0, 0, 6), P(0, 2, 0), P(0, 3, 0)},
                         Row{P(0, 0, 6), P(0, 0, 3), Dim(2)},
                         Row{P(1, 1, 0), kB, {}},
                         Row{P(2, 2, 0), P(1, 1, 0), Dim(2)},
                         Row{P(0, 1, 1), P(1, 1, 0), kB},
                         Row{P(-1, 0, 1), P(1, 1, 0), P(-1, 1, 0)},
                         Row{P(1, 0, 1), P(1, 1, 0), {}},
                         Row{P(2, 5, 0), P(1, 2, 0), {}},
                         Row{P(0, 6, 3), kB, P(6, 3, 0)},
                         Row{12, kB, {}},
                         Row{kMin, -1, {}},
                         Row{P(0, kMin, 0), P(1, -1, 0), {}},
                         Row{kUnknown, 2, {}},
                         Row{2, kUnknown, {}},
                         Row{kOverflow, kOverflow, {}}}) {
    CAPTURE(ToString(row.a));
    CAPTURE(ToString(row.b));
    CHECK(DivideExactly(row.a, row.b) == row.quotient);
  }
}

TEST_CASE("the value at a batch") {
  CHECK(Dim(5).At(1000) == 5);
  CHECK(P(3, 12, 0).At(8) == 99);
  CHECK(P(1, 2, 3).At(10) == 321);
  CHECK(P(0, -1, 1).At(1) == 0);
  CHECK(P(0, kMax, 0).At(2) == kMax);
  CHECK(P(0, 0, kMax).At(3) == kMax);
  CHECK(P(0, 0, 1).At(int64_t{1} << 32) == kMax);
}

TEST_CASE("what a dim is") {
  CHECK(Dim(3).IsConstant());
  CHECK(Dim(3).Is(3));
  CHECK(!kB.IsConstant());
  CHECK(!kB.Is(0));
  CHECK(!kUnknown.known());
  CHECK(!kUnknown.Is(0));
  CHECK(!kUnknown.overflowed());
  CHECK(kOverflow.overflowed());
  CHECK(kUnknown == Dim::Unknown());
  CHECK(kUnknown != kOverflow);
  CHECK(kUnknown != Dim(0));
}

TEST_CASE("text of dims") {
  struct Row {
    Dim dim;
    const char* text;
  };
  for (const Row& row :
       {Row{0, "0"}, Row{224, "224"}, Row{-3, "-3"}, Row{kB, "B"}, Row{P(1, 1, 0), "B + 1"}, Row{P(-1, 1, 0), "B - 1"},
        Row{P(0, 12, 0), "12*B"}, Row{P(3, -2, 1), "B^2 - 2*B + 3"}, Row{P(3, -1, 0), "-1*B + 3"},
        Row{P(kMin, 1, 0), "B - 9223372036854775808"}, Row{kUnknown, "?"}, Row{kOverflow, "overflow"}}) {
    CHECK(ToString(row.dim) == row.text);
  }
  CHECK(ToString(P(0, 2, 1), "N") == "N^2 + 2*N");
}

}  // namespace
}  // namespace vramplan
