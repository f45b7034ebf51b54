#include "pretend/card/address_space.h"

#include <doctest/doctest.h>

#include <set>

using pretend::AddressSpace;

namespace {

constexpr uint64_t kUnit = AddressSpace::kUnit;

TEST_CASE("addresses rise, a unit apart, whatever was given back") {
  AddressSpace space;
  const uint64_t first = space.Take(kUnit), second = space.Take(kUnit + 1), third = space.Take(kUnit);
  CHECK(first % kUnit == 0);
  CHECK(second - first == 2 * kUnit);
  CHECK(third - second == 3 * kUnit);  // 2 MiB and a byte take two units
  CHECK(space.Give(first));
  CHECK(space.Give(third));
  CHECK(space.Take(2 * kUnit) == third + 2 * kUnit);
  CHECK(space.Take(kUnit) == third + 5 * kUnit);
}

TEST_CASE("a program that allocates and frees for ever gets the same addresses again") {
  AddressSpace space;
  std::set<uint64_t> seen;
  for (int i = 0; i < 200; ++i) {
    const uint64_t range = space.Take(uint64_t{1} << 40);
    REQUIRE(range != 0);
    seen.insert(range);
    CHECK(space.Give(range));
  }
  CHECK(seen.size() >= 28);  // of 32 TiB
  CHECK(seen.size() <= 32);
}

TEST_CASE("an address belongs to the range around it") {
  AddressSpace space;
  CHECK(!space.Owns(0));
  const uint64_t range = space.Take(3 * kUnit);
  struct Row {
    uint64_t address;
    bool owned;
    AddressSpace::Range range;
  };
  const Row rows[] = {
      {range, true, {range, 3 * kUnit}}, {range + 3 * kUnit - 1, true, {range, 3 * kUnit}},
      {range + 3 * kUnit, true, {}},  // in the gap
      {range - 1 - kUnit, false, {}},    {1, false, {}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.address);
    CHECK(space.Owns(row.address) == row.owned);
    CHECK(space.RangeOf(row.address) == row.range);
  }
  CHECK(space.Give(range));
  CHECK(space.RangeOf(range) == AddressSpace::Range{});
  CHECK(!space.Give(range));
}

TEST_CASE("more than one region, and more than there is") {
  AddressSpace space;
  const uint64_t terabyte = uint64_t{1} << 40;
  uint64_t last = 0;
  for (int i = 0; i < 20; ++i) {
    const uint64_t range = space.Take(terabyte);
    REQUIRE(range != 0);
    CHECK(range != last);
    last = range;
  }
  CHECK(space.Take(UINT64_MAX) == 0);
  CHECK(space.Take(UINT64_MAX / 2) == 0);
  CHECK(space.Take(0) == 0);
}

}  // namespace
