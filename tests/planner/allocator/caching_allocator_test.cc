#include "planner/allocator/caching_allocator.h"

#include <doctest/doctest.h>

#include <vector>

namespace vramplan {
namespace {

constexpr int64_t kCachingAllocatorMiB = int64_t{1} << 20;

TEST_CASE("one request: block and segment") {
  const struct {
    int64_t bytes, block, segment;
  } rows[] = {
      // c10/cuda/CUDACachingAllocator.cpp, round_size, get_allocation_size, should_split
      {1, 512, 2 * kCachingAllocatorMiB},
      {512, 512, 2 * kCachingAllocatorMiB},
      {513, 1024, 2 * kCachingAllocatorMiB},
      {40'000, 40'448, 2 * kCachingAllocatorMiB},
      {kCachingAllocatorMiB, kCachingAllocatorMiB, 2 * kCachingAllocatorMiB},
      {kCachingAllocatorMiB + 1, 1'049'088, 20 * kCachingAllocatorMiB},
      {8'519'680, 8'519'680, 20 * kCachingAllocatorMiB},  // a cuBLAS workspace
      {10 * kCachingAllocatorMiB - 1, 10 * kCachingAllocatorMiB,
       10 * kCachingAllocatorMiB},  // rounds into a segment of its own
      {10 * kCachingAllocatorMiB, 10 * kCachingAllocatorMiB, 10 * kCachingAllocatorMiB},
      {21 * kCachingAllocatorMiB / 2, 21 * kCachingAllocatorMiB / 2, 12 * kCachingAllocatorMiB},  // 1.5 MiB left: split
      {11 * kCachingAllocatorMiB, 12 * kCachingAllocatorMiB, 12 * kCachingAllocatorMiB},  // 1 MiB left: not split
      {23 * kCachingAllocatorMiB / 2, 12 * kCachingAllocatorMiB, 12 * kCachingAllocatorMiB},
      {64 * kCachingAllocatorMiB + 1, 64 * kCachingAllocatorMiB + 512, 66 * kCachingAllocatorMiB},
  };
  for (const auto& row : rows) {
    CAPTURE(row.bytes);
    CachingAllocator allocator(Bytes::GiB(1), {});
    const auto got = allocator.Allocate(Bytes::Of(row.bytes));
    REQUIRE(got);
    CHECK(got->size == Bytes::Of(row.block));
    CHECK(allocator.statistics() ==
          AllocatorStatistics{Bytes::Of(row.bytes), Bytes::Of(row.block), Bytes::Of(row.segment), 1, 0});
    allocator.Free(got->handle);
    allocator.EmptyCache();
    CHECK(allocator.statistics() == AllocatorStatistics{});
  }
}

// Requests in order; what is given back is written as its index, negative, minus one.
struct CachingAllocatorScenario {
  const char* name;
  const char* config;
  int64_t capacity;
  std::vector<int64_t> requests;
  std::vector<int64_t> addresses;  // of the allocations; -1: out of memory
  AllocatorStatistics end;
};

TEST_CASE("requests one after the other") {
  const CachingAllocatorScenario scenarios[] = {
      {"best fit: the smallest that is large enough, not the first",
       "",
       1 << 30,
       {30 * kCachingAllocatorMiB, 14 * kCachingAllocatorMiB, 22 * kCachingAllocatorMiB, -1, -2, -3,
        13 * kCachingAllocatorMiB},
       {0, 32 * kCachingAllocatorMiB, 48 * kCachingAllocatorMiB, 32 * kCachingAllocatorMiB},
       {Bytes::MiB(13), Bytes::MiB(14), Bytes::MiB(66), 3, 0}},
      {"equal ones: the lowest address",
       "",
       1 << 30,
       {14 * kCachingAllocatorMiB, 14 * kCachingAllocatorMiB, -2, -1, 14 * kCachingAllocatorMiB},
       {0, 16 * kCachingAllocatorMiB, 0},
       {Bytes::MiB(14), Bytes::MiB(14), Bytes::MiB(28), 2, 0}},
      {"neighbours that are free become one",
       "",
       1 << 30,
       {4 * kCachingAllocatorMiB, 4 * kCachingAllocatorMiB, 4 * kCachingAllocatorMiB, -1, -2, 8 * kCachingAllocatorMiB},
       {0, 4 * kCachingAllocatorMiB, 8 * kCachingAllocatorMiB, 0},
       {Bytes::MiB(12), Bytes::MiB(12), Bytes::MiB(20), 1, 0}},
      {"a full device: what is wholly free is given back, and the request tried again",
       "",
       64 * kCachingAllocatorMiB,
       {30 * kCachingAllocatorMiB, 30 * kCachingAllocatorMiB, -1, -2, 40 * kCachingAllocatorMiB},
       {0, 32 * kCachingAllocatorMiB, 64 * kCachingAllocatorMiB},
       {Bytes::MiB(40), Bytes::MiB(40), Bytes::MiB(40), 1, 1}},
      {"a split segment cannot be given back",
       "",
       64 * kCachingAllocatorMiB,
       {4 * kCachingAllocatorMiB, 40 * kCachingAllocatorMiB, -2, 50 * kCachingAllocatorMiB, 40 * kCachingAllocatorMiB},
       {0, 22 * kCachingAllocatorMiB, -1, 64 * kCachingAllocatorMiB},
       {Bytes::MiB(44), Bytes::MiB(44), Bytes::MiB(60), 2, 1}},
      {"expandable: no slack, the freed front is extended",
       "expandable_segments:True",
       1 << 30,
       {23 * kCachingAllocatorMiB / 2, -1, 44 * kCachingAllocatorMiB},
       {0, 0},
       {Bytes::MiB(44), Bytes::MiB(44), Bytes::MiB(60), 0, 0}},
      {"expandable: a card without room gives nothing",
       "expandable_segments:True",
       0,
       {1},
       {-1},
       {Bytes(), Bytes(), Bytes(), 0, 1}},
      {"a fraction of the device",
       "per_process_memory_fraction:0.5",
       64 * kCachingAllocatorMiB,
       {30 * kCachingAllocatorMiB, 4 * kCachingAllocatorMiB},
       {0, -1},
       {Bytes::MiB(30), Bytes::MiB(30), Bytes::MiB(30), 1, 1}},
      {"zero bytes take nothing",
       "",
       64 * kCachingAllocatorMiB,
       {0, 1},
       {0, 0},
       {Bytes::Of(1), Bytes::Of(512), Bytes::MiB(2), 1, 0}},
  };
  for (const CachingAllocatorScenario& scenario : scenarios) {
    CAPTURE(scenario.name);
    CachingAllocator allocator(Bytes::Of(scenario.capacity), ParseAllocatorConfig(scenario.config).value());
    std::vector<CachingAllocator::Handle> handles;
    std::vector<int64_t> addresses;
    for (const int64_t request : scenario.requests) {
      if (request < 0) {
        allocator.Free(handles[static_cast<size_t>(-request - 1)]);
        continue;
      }
      const auto got = allocator.Allocate(Bytes::Of(request));
      handles.push_back(got ? got->handle : -1);
      addresses.push_back(got ? got->address : -1);
    }
    CHECK(addresses == scenario.addresses);
    CHECK(allocator.statistics() == scenario.end);
  }
}

TEST_CASE("absurd sizes run out of memory, without overflow") {
  CachingAllocator allocator(Bytes::Max(), {});
  CHECK(!allocator.Allocate(Bytes::Max()));
  CHECK(!allocator.Allocate(Bytes::Of((int64_t{1} << 62) + 1)));
  for (int i = 0; i < 20; ++i) {
    const auto got = allocator.Allocate(Bytes::Of(int64_t{1} << 59));
    REQUIRE(got);
    allocator.Free(got->handle);
    allocator.EmptyCache();
  }
  CHECK(allocator.statistics().reserved == Bytes());
}

TEST_CASE("a picture of the segments") {
  CachingAllocator allocator(Bytes::GiB(1), {});
  const auto first = allocator.Allocate(Bytes::Of(4 * kCachingAllocatorMiB - 100));
  const auto second = allocator.Allocate(Bytes::Of(6 * kCachingAllocatorMiB));
  const auto small = allocator.Allocate(Bytes::Of(1000));
  allocator.Free(first->handle);
  const std::vector<Segment> expected = {
      {0,
       Bytes::MiB(20),
       false,
       false,
       {{0, Bytes::MiB(4), Bytes(), -1},
        {4 * kCachingAllocatorMiB, Bytes::MiB(6), Bytes::MiB(6), second->handle},
        {10 * kCachingAllocatorMiB, Bytes::MiB(10), Bytes(), -1}}},
      {22 * kCachingAllocatorMiB,
       Bytes::MiB(2),
       true,
       false,
       {{22 * kCachingAllocatorMiB, Bytes::Of(1024), Bytes::Of(1000), small->handle},
        {22 * kCachingAllocatorMiB + 1024, Bytes::Of(2 * kCachingAllocatorMiB - 1024), Bytes(), -1}}},
  };
  CHECK(allocator.Snapshot() == expected);
}

}  // namespace
}  // namespace vramplan
