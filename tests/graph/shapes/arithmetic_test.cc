#include "graph/shapes/arithmetic.h"

#include <doctest/doctest.h>

#include <limits>

namespace vramplan {
namespace {

const Dim B = Dim::Batch();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();

TEST_CASE("quotients are exact or unknown") {
  struct Row {
    Dim a, b, floor, truncated, modulo;
  };
  const Dim none = Dim::Unknown();
  const Row rows[] = {
      {7, 2, 3, 3, 1},
      {-7, 2, -4, -3, 1},
      {7, -2, -4, -3, -1},
      {6, -1, -6, -6, 0},
      {Dim(12) * B, B, 12, 12, 0},
      {Dim(12) * B, 3, Dim(4) * B, Dim(4) * B, 0},
      {Dim(12) * B + Dim(5), 12, B, B, 5},
      {B, 2, none, none, none},
      {Dim(2) * B - Dim(1), 2, B - Dim(1), B - Dim(1), 1},
      {7, 0, none, none, none},
      {kLeast, -1, none, none, 0},
      {kLeast, 1, kLeast, kLeast, 0},
      {B * B, B, B, B, 0},
      {none, 2, none, none, none},
  };
  for (const Row& row : rows) {
    CAPTURE(ToString(row.a));
    CAPTURE(ToString(row.b));
    CHECK(FloorDivide(row.a, row.b) == row.floor);
    CHECK(TruncatingDivide(row.a, row.b) == row.truncated);
    CHECK(Modulo(row.a, row.b) == row.modulo);
    // What is said of all batches holds at each.
    for (int64_t batch : {1, 2, 3, 7}) {
      if (row.floor.known() && row.b.known() && row.b.At(batch) > 0 && row.a.At(batch) >= 0) {
        CHECK(row.floor.At(batch) == row.a.At(batch) / row.b.At(batch));
      }
    }
  }
  CHECK(FloorDivide(Dim::Overflow(), 2) == Dim::Overflow());
  CHECK(CeilDivide(B + Dim(1), 1) == B + Dim(1));
  CHECK(CeilDivide(9, 4) == Dim(3));
  CHECK(CeilDivide(9, 0) == Dim::Unknown());
}

TEST_CASE("comparisons hold for every batch from 1 on, or are unknown") {
  CHECK(AlwaysAtLeast(B, 1));
  CHECK_FALSE(AlwaysAtLeast(B, 2));
  CHECK(AlwaysAtLeast(Dim(4) * B, 4));
  CHECK_FALSE(AlwaysAtLeast(1, B));
  CHECK(Minimum(B, 1) == Dim(1));
  CHECK(Minimum(B, 2) == Dim::Unknown());
  CHECK(Maximum(B, Dim(2) * B) == Dim(2) * B);
  CHECK(Equals(B, 0) == Dim(0));
  CHECK(Equals(B, 1) == Dim::Unknown());
  CHECK(Equals(Dim(2) * B, B) == Dim(0));
  CHECK(Less(0, B) == Dim(1));
  CHECK(Less(B, B) == Dim(0));
  CHECK(Less(B, 9) == Dim::Unknown());
  CHECK(Less(kLeast, kMost) == Dim::Unknown());  // their difference has no 64-bit value
}

TEST_CASE("what is not exceeded") {
  const Dim b = Dim::Batch();
  CHECK(BoundOfBoth(Dim(9) * b, Dim(5) * b) == Dim(9) * b);
  CHECK(BoundOfBoth(Dim(9) * b, 100) == Dim(9) * b + Dim(100));
  CHECK(BoundOfBoth(b, Dim::Unknown()) == Dim::Unknown());
  CHECK(BoundOfQuotient(Dim(9) * b, 2) == Dim(5) * b);
  CHECK(BoundOfQuotient(Dim(9) * b + Dim(3), 3) == Dim(3) * b + Dim(1));
  CHECK(BoundOfQuotient(Dim(9) * b, 0) == Dim::Unknown());
  for (int64_t batch = 1; batch < 9; ++batch) {
    CHECK(BoundOfQuotient(Dim(9) * b + Dim(-4), 4).At(batch) * 4 >= 9 * batch - 4);
    CHECK(BoundOfBoth(Dim(2) * b, Dim(7)).At(batch) >= std::max<int64_t>(2 * batch, 7));
  }
}

TEST_CASE("the batch that gives a length") {
  CHECK(BatchAt(Dim(12) * B, 96) == 8);
  CHECK(BatchAt(Dim(12) * B, 97) == std::nullopt);
  CHECK(BatchAt(Dim(12) * B, 0) == std::nullopt);
  CHECK(BatchAt(B + Dim(1), 9) == 8);
  CHECK(BatchAt(12, 12) == std::nullopt);
  CHECK(BatchAt(B * B, 64) == std::nullopt);
}

}  // namespace
}  // namespace vramplan
