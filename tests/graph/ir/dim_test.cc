#include "graph/ir/dim.h"

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <string>

namespace vramplan {
namespace {

constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

Dim P(int64_t c0, int64_t c1, int64_t c2 = 0) { return Dim::Polynomial(c0, c1, c2); }
const Dim kBatch = Dim::Batch();
const Dim kSquare = P(0, 0, 1);

TEST_CASE("arithmetic is exact, or says that it is not") {
  struct Row {
    Dim a, b;
    const char* sum;
    const char* difference;
    const char* product;
  };
  const Row rows[] = {
      {3, 4, "7", "-1", "12"},
      {kBatch, 12, "B + 12", "B - 12", "12*B"},
      {kBatch, kBatch, "2*B", "0", "B^2"},
      {P(1, 1), P(-1, 1), "2*B", "2", "B^2 - 1"},
      {kSquare, 0, "B^2", "B^2", "0"},
      {kSquare, 5, "B^2 + 5", "B^2 - 5", "5*B^2"},
      {kSquare, kBatch, "B^2 + B", "B^2 - B", "overflow"},  // degree 3
      {kSquare, kSquare, "2*B^2", "0", "overflow"},
      {kMax, 1, "overflow", "9223372036854775806", "9223372036854775807"},
      {P(0, kMax), P(2, 0), "9223372036854775807*B + 2", "9223372036854775807*B - 2", "overflow"},
      {Dim::Unknown(), 1, "?", "?", "?"},
      {Dim::Unknown(), Dim::Overflow(), "overflow", "overflow", "overflow"},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.a));
    CAPTURE(ToString(row.b));
    CHECK_EQ(ToString(row.a + row.b), row.sum);
    CHECK_EQ(ToString(row.b + row.a), row.sum);
    CHECK_EQ(ToString(row.a - row.b), row.difference);
    CHECK_EQ(ToString(row.a * row.b), row.product);
    CHECK_EQ(ToString(row.b * row.a), row.product);
  }
}

TEST_CASE("division only where it is exact for every batch") {
  struct Row {
    Dim a, b;
    const char* quotient;  // "" when there is none
  };
  const Row rows[] = {
      {12, 4, "3"},
      {12, 5, ""},
      {12, 0, ""},
      {0, 5, "0"},
      {P(0, 12), kBatch, "12"},
      {P(0, 12), 3, "4*B"},
      {P(0, 12), 5, ""},
      {P(1, 12), kBatch, ""},
      {kSquare, kBatch, "B"},
      {P(0, 6, 3), kBatch, "3*B + 6"},
      {P(2, 4), P(1, 2), "2"},
      {P(2, 5), P(1, 2), ""},
      {P(1, 1), P(1, 1), "1"},
      {5, kBatch, ""},
      {Dim::Unknown(), 2, ""},
      {12, Dim::Overflow(), ""},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.a));
    CAPTURE(ToString(row.b));
    const std::optional<Dim> quotient = DivideExactly(row.a, row.b);
    CHECK_EQ(quotient ? ToString(*quotient) : "", row.quotient);
    if (quotient) CHECK_EQ(*quotient * row.b, row.a);
  }
}

TEST_CASE("values at a batch saturate") {
  CHECK_EQ(Dim(224).At(64), 224);
  CHECK_EQ(P(3, 2, 1).At(10), 123);
  CHECK_EQ((Dim::Batch() * Dim(197)).At(8), 1576);
  CHECK_EQ(P(0, kMax).At(2), kMax);
  CHECK_EQ(kSquare.At(int64_t{1} << 32), kMax);
}

TEST_CASE("states") {
  CHECK(Dim(3).IsConstant());
  CHECK(Dim(3).Is(3));
  CHECK(!kBatch.IsConstant());
  CHECK(!kBatch.Is(0));
  CHECK(!Dim::Unknown().known());
  CHECK(!Dim::Unknown().Is(0));
  CHECK(Dim::Overflow().overflowed());
  CHECK_NE(Dim::Unknown(), Dim::Overflow());
  CHECK_NE(Dim::Unknown(), Dim(0));
  CHECK_EQ(ToString(P(-1, 2), "batch"), "2*batch - 1");
  CHECK_EQ(ToString(P(0, -1)), "-1*B");
}

}  // namespace
}  // namespace vramplan
