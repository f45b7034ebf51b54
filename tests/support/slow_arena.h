// SlowArena: best fit with coalescing once more, from its rules and with no cleverness, for tests to compare the quick
// one with. A region is a range of addresses and the list of what lives in it; what is free is not kept but found.
#pragma once

#include <cstdint>
#include <list>
#include <optional>

#include "planner/allocator/bfc_arena.h"

namespace vramplan::testing {

class SlowArena {
 public:
  struct Got {
    int id = -1;
    int64_t address = 0, size = 0;
  };
  SlowArena(int64_t capacity, const BfcConfig& config);
  std::optional<Got> Allocate(int64_t bytes);
  void Free(int id);
  AllocatorStatistics statistics() const;

 private:
  struct Live {
    int id = 0;
    int64_t begin = 0, size = 0, requested = 0;
  };
  struct Region {
    int64_t begin = 0, size = 0;
    std::list<Live> live;  // by address
  };
  std::optional<Got> Place(int64_t size, int64_t requested);
  bool Grow(int64_t size);
  int64_t Taken() const;

  int64_t capacity_, limit_, next_region_, next_address_ = 0, furthest_ = 0, retries_ = 0;
  BfcConfig config_;
  std::list<Region> regions_;
  int next_id_ = 0;
};

}  // namespace vramplan::testing
