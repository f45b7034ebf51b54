#include "planner/allocator/free_blocks.h"

#include <doctest/doctest.h>

#include <set>
#include <utility>
#include <vector>

#include "tests/support/dice.h"

namespace vramplan::testing {
namespace {

using OrderedBlocks = std::set<std::pair<int64_t, uint64_t>>;

OrderedBlocks InOrder(const FreeBlocks& free) {
  OrderedBlocks ordered;
  for (const FreeBlock& entry : free) {
    const std::pair<int64_t, uint64_t> key{entry.size, entry.address};
    if (!ordered.empty()) CHECK(*ordered.rbegin() < key);
    ordered.insert(key);
  }
  return ordered;
}

TEST_CASE("free blocks: the best fit is the smallest that is large enough, then the lowest address") {
  FreeBlocks free;
  CHECK(free.empty());
  CHECK(free.LowerBound(1) == free.end());
  free.Insert({2048, 0x200, 1});
  free.Insert({512, 0xA00, 2});
  free.Insert({512, 0x600, 3});
  CHECK(free.LowerBound(512)->block == 3);
  CHECK(free.LowerBound(600)->block == 1);
  CHECK(free.LowerBound(2049) == free.end());
  CHECK(free.largest().block == 1);
  free.Remove(512, 0x600);
  CHECK(free.LowerBound(1)->block == 2);
}

// From none to thousands and back: runs are halved, and dropped when they are empty.
TEST_CASE("free blocks: many of them are those of an ordered set") {
  for (uint32_t seed = 1; seed <= 4; ++seed) {
    Dice dice(seed);
    FreeBlocks free;
    OrderedBlocks expected;
    for (int i = 0; i < 12'000; ++i) {
      const bool grows = dice.OneIn(5) != (i < 6'000);
      const int64_t size = 512 * dice.Between(1, seed % 2 == 0 ? 4 : 4'000);
      const auto address = static_cast<uint64_t>(512 * dice.Between(0, 1'000'000));
      if (grows) {
        if (expected.emplace(size, address).second) free.Insert({size, address, i});
      } else if (const auto next = expected.lower_bound({size, address}); next != expected.end()) {
        const auto at = free.LowerBound(size, address);
        REQUIRE(at != free.end());
        CHECK(std::pair(at->size, at->address) == *next);
        if (i % 2 == 0) {
          free.Erase(at);
        } else {
          free.Remove(next->first, next->second);
        }
        expected.erase(next);
      } else {
        CHECK(free.LowerBound(size, address) == free.end());
      }
      if (!expected.empty()) CHECK(free.largest().size == expected.rbegin()->first);
      if (i % 500 == 0) CHECK(InOrder(free) == expected);
    }
    while (!expected.empty()) {
      free.Remove(expected.begin()->first, expected.begin()->second);
      expected.erase(expected.begin());
    }
    CHECK(free.empty());
    CHECK(free.begin() == free.end());
  }
}

}  // namespace
}  // namespace vramplan::testing
