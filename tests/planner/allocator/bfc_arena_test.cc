#include "planner/allocator/bfc_arena.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/dice.h"
#include "tests/support/slow_arena.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST_CASE("one request: chunk and region") {
  struct Row {
    int64_t bytes, chunk, region;
  };
  constexpr Row kRows[] = {
      // onnxruntime/core/framework/bfc_arena.cc: RoundedBytes, SplitFreeChunkFromBin, Extend
      {1, 256, kMiB},
      {256, 256, kMiB},
      {257, 512, kMiB},
      {kMiB / 2, kMiB / 2, kMiB},
      {kMiB / 2 + 1, kMiB, kMiB},  // less than half is left: not split
      {kMiB + 1, 2 * kMiB, 2 * kMiB},
      {129 * kMiB, 256 * kMiB, 256 * kMiB},  // 127 MiB are left
      {128 * kMiB + 1, 256 * kMiB, 256 * kMiB},
      {300 * kMiB, 300 * kMiB, 512 * kMiB},  // 212 MiB are left: split
      {1500 * kMiB, 1500 * kMiB, 2048 * kMiB},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.bytes);
    BfcArena arena(Bytes::GiB(8), BfcConfig());
    const auto got = arena.Allocate(Bytes::Of(row.bytes));
    REQUIRE(got);
    CHECK(got->size == Bytes::Of(row.chunk));
    CHECK(arena.statistics() ==
          AllocatorStatistics{Bytes::Of(row.bytes), Bytes::Of(row.chunk), Bytes::Of(row.region), 1, 0});
    arena.Free(got->handle);
    CHECK(arena.statistics() == AllocatorStatistics{Bytes(), Bytes(), Bytes::Of(row.region), 1, 0});
  }
}

// Requests in order; what is given back is written as its index, negative, minus one.
struct Scenario {
  const char* name;
  BfcConfig config;
  int64_t capacity;
  std::vector<int64_t> requests;
  std::vector<int64_t> addresses;        // of the allocations; -1: out of memory
  int64_t requested, reserved, regions;  // at the end; reserved -1: not told
};

TEST_CASE("requests one after the other") {
  const BfcConfig same{.growth = BfcGrowth::kSameAsRequested};
  const BfcConfig pool{.growth = BfcGrowth::kWholePool, .limit = Bytes::MiB(64)};
  BfcConfig releasing;
  releasing.releases_regions = true;
  const Scenario scenarios[] = {
      {"the smallest free chunk that is large enough, and of the equal ones the lowest",
       same,
       1 << 30,
       {30 * kMiB, 14 * kMiB, 14 * kMiB, -1, -3, -2, 13 * kMiB},
       {0, 32 * kMiB, 48 * kMiB, 32 * kMiB},
       13 * kMiB,
       58 * kMiB,
       3},
      {"neighbours that are free become one, across regions they do not",
       {},
       1 << 30,
       {kMiB / 4, kMiB / 4, kMiB / 4, -1, -2, kMiB / 2, kMiB},
       {0, kMiB / 4, kMiB / 2, 0, 4 * kMiB},
       7 * kMiB / 4,
       3 * kMiB,
       2},
      {"regions double when the next one would have been large enough",
       {},
       1 << 30,
       {kMiB, kMiB, kMiB, 4 * kMiB},
       {0, 4 * kMiB, 5 * kMiB, 8 * kMiB},
       7 * kMiB,
       7 * kMiB,
       3},
      {"a full card: the region shrinks by tenths until it fits",
       {},
       40 * kMiB,
       {30 * kMiB, 7 * kMiB},
       {0, 34 * kMiB},
       37 * kMiB,
       -1,
       2},
      {"gpu_mem_limit holds", {.limit = Bytes::MiB(4)}, 1 << 30, {3 * kMiB, 2 * kMiB}, {0, -1}, 3 * kMiB, 4 * kMiB, 1},
      {"a pool is one region, and counts as far as it was reached",
       pool,
       1 << 30,
       {kMiB, 10 * kMiB, -1, 2 * kMiB, kMiB / 2, 60 * kMiB},
       {0, kMiB, 11 * kMiB, 0, -1},
       25 * kMiB / 2,
       13 * kMiB,
       1},
      {"TensorFlow gives whole regions back before it gives up",
       releasing,
       20 * kMiB,
       {8 * kMiB, 8 * kMiB, -1, 10 * kMiB},
       {0, 10 * kMiB, 20 * kMiB},
       18 * kMiB,
       -1,
       2},
  };
  for (const Scenario& scenario : scenarios) {
    CAPTURE(scenario.name);
    BfcArena arena(Bytes::Of(scenario.capacity), scenario.config);
    std::vector<std::optional<Allocation>> got;
    for (const int64_t request : scenario.requests) {
      if (request < 0) {
        arena.Free(got[static_cast<size_t>(-request - 1)]->handle);
      } else {
        got.push_back(arena.Allocate(Bytes::Of(request)));
      }
    }
    std::vector<int64_t> addresses;
    for (const auto& allocation : got) addresses.push_back(allocation ? allocation->address : -1);
    CHECK(addresses == scenario.addresses);
    CHECK(arena.statistics().requested == Bytes::Of(scenario.requested));
    CHECK(arena.statistics().segments == scenario.regions);
    if (scenario.reserved >= 0) CHECK(arena.statistics().reserved == Bytes::Of(scenario.reserved));
  }
}

TEST_CASE("regions as ONNX Runtime 1.31 took them") {
  const auto rows = testing::ReadCsv(testing::DataFolder() + "/onnxruntime/growth.csv");
  REQUIRE(rows.size() == 18);
  for (const testing::Row& row : rows) {
    CAPTURE(row.at("requests"));
    BfcConfig config;
    if (row.at("strategy") == "kSameAsRequested") config.growth = BfcGrowth::kSameAsRequested;
    BfcArena arena(Bytes::Max(), config);
    std::istringstream requests(row.at("requests"));
    Bytes before;
    std::string regions;
    for (int64_t bytes = 0; requests >> bytes;) {
      REQUIRE(arena.Allocate(Bytes::Of(bytes)));
      const Bytes now = arena.statistics().reserved;
      if (now > before) regions += (regions.empty() ? "" : " ") + std::to_string((now - before).count());
      before = now;
    }
    CHECK(regions == row.at("regions"));
  }
}

// The picture that the quick one gives of itself must add up.
bool AddsUp(const BfcArena& arena) {
  Bytes requested, allocated, reserved;
  for (const Segment& segment : arena.Snapshot()) {
    int64_t at = segment.address;
    bool free_before = false;
    for (const SegmentBlock& block : segment.blocks) {
      if (block.address != at || (!block.live() && free_before)) return false;
      at += block.size.count();
      free_before = !block.live();
      requested += block.requested;
      if (block.live()) allocated += block.size;
    }
    if (at != segment.address + segment.size.count()) return false;
    reserved += segment.size;
  }
  const AllocatorStatistics& now = arena.statistics();
  return requested == now.requested && allocated == now.allocated && reserved == now.reserved;
}

std::string RunTrace(uint64_t seed) {
  testing::Dice dice(seed);
  BfcConfig config;
  config.growth = static_cast<BfcGrowth>(dice.Between(0, 2));
  config.releases_regions = config.growth != BfcGrowth::kWholePool && dice.OneIn(2);
  if (dice.OneIn(2)) config.limit = Bytes::Of(dice.Between(1, 400) * kMiB + dice.Between(0, kMiB));
  if (dice.OneIn(2)) config.first_region = Bytes::MiB(2);
  if (dice.OneIn(2)) config.largest_doubling = Bytes::MiB(dice.Between(4, 64));
  if (dice.OneIn(2)) config.most_unsplit = Bytes::MiB(dice.Between(1, 20));
  const int64_t capacity = dice.Between(4, 500) * kMiB + dice.Between(0, kMiB);
  BfcArena quick(Bytes::Of(capacity), config);
  testing::SlowArena slow(capacity, config);
  struct Live {
    int32_t quick;
    int slow;
  };
  std::vector<Live> live;
  for (int64_t event = 0, events = dice.Between(10, 90), keep = dice.Between(2, 6); event < events; ++event) {
    const std::string where = "seed " + std::to_string(seed) + ", event " + std::to_string(event) + ": ";
    if (!live.empty() && dice.OneIn(keep)) {
      const auto at = static_cast<size_t>(dice.Between(0, static_cast<int64_t>(live.size()) - 1));
      quick.Free(live[at].quick);
      slow.Free(live[at].slow);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const int64_t bytes =
          dice.OneIn(2) ? dice.Between(1, 4096) : dice.Between(1, dice.OneIn(3) ? 90 * kMiB : 4 * kMiB);
      const auto a = quick.Allocate(Bytes::Of(bytes));
      const auto b = slow.Allocate(bytes);
      if (a.has_value() != b.has_value()) return where + "one is out of memory";
      if (a && (a->size != Bytes::Of(b->size) || a->address != b->address)) return where + "another chunk";
      if (a) live.push_back({a->handle, b->id});
    }
    if (!(quick.statistics() == slow.statistics())) return where + "other counters";
    if (!AddsUp(quick)) return where + "the picture does not add up";
  }
  return "";
}

TEST_CASE("the quick arena and the slow one agree on random traces") {
  const char* wanted = std::getenv("VRAMPLAN_TRACES");
  const uint64_t traces = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 3000;
  for (uint64_t seed = 0; seed < traces; ++seed) {
    const std::string differs = RunTrace(seed);
    REQUIRE_MESSAGE(differs.empty(), differs);
  }
}

}  // namespace
}  // namespace vramplan
