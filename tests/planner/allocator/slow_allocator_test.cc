// The quick allocator against the slow one on random traces: same blocks, same addresses, same counters after every
// request. VRAMPLAN_TRACES=1000000 runs as many; a trace is told by its seed.
#include "tests/support/slow_allocator.h"

#include <doctest/doctest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "planner/allocator/caching_allocator.h"
#include "tests/support/dice.h"

namespace vramplan {
namespace {

constexpr int64_t kMebibyte = int64_t{1} << 20;

AllocatorConfig RandomConfig(testing::Dice& dice) {
  AllocatorConfig config;
  config.expandable_segments = dice.OneIn(3);
  if (dice.OneIn(8)) config.large_segment_size = Bytes::MiB(dice.Between(6, 20) * 2);
  const int64_t least = std::max<int64_t>(20, config.large_segment_size.count() / kMebibyte);
  if (dice.OneIn(3)) config.max_split_size = Bytes::MiB(dice.Between(least, least + 30));
  config.max_non_split_rounding = Bytes::MiB(dice.OneIn(3) ? dice.Between(least, least + 20) : least);
  if (dice.OneIn(3)) config.per_process_memory_fraction = static_cast<double>(dice.Between(1, 99)) / 100;
  if (dice.OneIn(2)) config.garbage_collection_threshold = static_cast<double>(dice.Between(1, 99)) / 100;
  if (dice.OneIn(4)) {
    config.roundup_power2_divisions.resize(16);
    for (int64_t& divisions : config.roundup_power2_divisions) divisions = int64_t{1} << dice.Between(0, 5);
  }
  return config;
}

int64_t RandomSize(testing::Dice& dice, bool large) {
  constexpr int64_t kEdges[] = {512,           kMebibyte, 2 * kMebibyte, 10 * kMebibyte, 12 * kMebibyte, 20 * kMebibyte,
                                40 * kMebibyte};
  if (dice.OneIn(4)) return std::max<int64_t>(1, kEdges[dice.Between(0, 6)] + dice.Between(-2, 2) * 256);
  if (!large || dice.OneIn(4)) return dice.Between(1, dice.OneIn(2) ? 4096 : kMebibyte);
  return dice.Between(kMebibyte, dice.OneIn(4) ? 90 * kMebibyte : 14 * kMebibyte);
}

// The picture that the quick one gives of itself must add up.
bool AddsUp(const CachingAllocator& allocator, bool expandable) {
  AllocatorStatistics sums;
  sums.retries = allocator.statistics().retries;
  for (const Segment& segment : allocator.Snapshot()) {
    int64_t at = segment.address;
    bool free_before = false;
    for (const SegmentBlock& block : segment.blocks) {
      if (block.address != at || (!block.live() && free_before)) return false;
      at += block.size.count();
      free_before = !block.live();
      sums.requested += block.requested;
      if (block.live()) sums.allocated += block.size;
    }
    if (at != segment.address + segment.size.count()) return false;
    sums.reserved += segment.size;
    sums.segments += !expandable;
  }
  return sums == allocator.statistics();
}

std::string RunSlowTrace(uint64_t seed) {
  testing::Dice dice(seed);
  const AllocatorConfig config = RandomConfig(dice);
  const Bytes capacity =
      Bytes::Of(dice.Between(30, dice.OneIn(3) ? 1000 : 200) * kMebibyte + dice.Between(0, kMebibyte));
  CachingAllocator quick(capacity, config);
  testing::SlowAllocator slow(capacity, config);
  struct Live {
    CachingAllocator::Handle quick;
    int slow;
  };
  std::vector<Live> live;
  const bool large = !dice.OneIn(3);
  const int64_t events = dice.Between(10, 90), keep = dice.Between(2, 12);
  for (int64_t event = 0; event < events; ++event) {
    const std::string where = "seed " + std::to_string(seed) + ", event " + std::to_string(event) + ": ";
    if (!live.empty() && dice.OneIn(keep)) {
      while (!live.empty() && !dice.OneIn(4)) {
        const auto at = static_cast<size_t>(dice.Between(0, static_cast<int64_t>(live.size()) - 1));
        quick.Free(live[at].quick);
        slow.Free(live[at].slow);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
    } else if (dice.OneIn(60)) {
      quick.EmptyCache();
      slow.EmptyCache();
    } else {
      const Bytes bytes = Bytes::Of(RandomSize(dice, large));
      const auto a = quick.Allocate(bytes);
      const auto b = slow.Allocate(bytes);
      if (a.has_value() != b.has_value()) return where + "one is out of memory";
      if (a && (a->size != b->size || a->address != b->address)) return where + "another block";
      if (a) live.push_back({a->handle, b->id});
    }
    if (quick.statistics() != slow.statistics()) return where + "other counters";
  }
  if (!AddsUp(quick, config.expandable_segments))
    return "seed " + std::to_string(seed) + ": the picture does not add up";
  return "";
}

TEST_CASE("the quick allocator and the slow one agree on random traces") {
  const char* wanted = std::getenv("VRAMPLAN_TRACES");
  const char* first = std::getenv("VRAMPLAN_FIRST_TRACE");
  const uint64_t begin = first != nullptr ? std::strtoull(first, nullptr, 10) : 0;
  const uint64_t traces = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 3000;
  for (uint64_t seed = begin; seed < begin + traces; ++seed) {
    const std::string difference = RunSlowTrace(seed);
    if (difference.empty()) continue;
    FAIL(difference);
  }
}

}  // namespace
}  // namespace vramplan
