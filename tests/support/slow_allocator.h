// SlowAllocator: PyTorch's caching allocator once more, from its rules and with no cleverness, for tests to compare the
// quick one with.
//
// A segment is a range of addresses and a list of the blocks that live in it; what is free is not kept but found: the
// gaps. So there is nothing to merge and nothing to go stale, and every question is a uses over everything.
//
//   segment  |--live--|     gap      |-live-|  gap  |      addresses -->
//   mapped   |pppppppppppppppppppppppppppppp|.......|      (expandable: pages that have memory)
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <vector>

#include "planner/allocator/caching_allocator.h"

namespace vramplan::testing {

class SlowAllocator {
 public:
  struct Allocation {
    int id = -1;
    Bytes size;
    int64_t address = 0;
  };
  SlowAllocator(Bytes capacity, const AllocatorConfig& config) : capacity_(capacity.count()), config_(config) {}

  std::optional<Allocation> Allocate(Bytes bytes);
  void Free(int id);
  void EmptyCache();
  AllocatorStatistics statistics() const;

 private:
  struct Live {
    int id = 0;
    int64_t begin = 0, size = 0, requested = 0;  // begin: address
  };
  struct Segment {
    int64_t begin = 0, size = 0;
    bool small = false;
    std::list<Live> live;      // by address
    int64_t page = 0;          // 0: not expandable
    std::vector<bool> mapped;  // by page
    int64_t free_since = 0;    // large look-ups when the last block left
  };
  struct Gap {  // free memory between live blocks or unmapped pages
    std::list<Segment>::iterator segment;
    int64_t begin = 0, size = 0, grown = 0;  // grown: with the unmapped space that follows
  };

  int64_t Rounded(int64_t bytes) const;
  int64_t SegmentSize(int64_t size) const;
  int64_t Reserved() const;
  std::list<Gap> Gaps(bool small);
  std::optional<Gap> BestFit(bool small, int64_t size);
  std::optional<Gap> Obtain(bool small, int64_t size);
  std::optional<Gap> Grow(bool small, int64_t size);
  void CollectGarbage();
  bool ReleaseOversize(bool small, int64_t size);
  Gap GapAt(bool small, int64_t begin);

  int64_t capacity_;
  AllocatorConfig config_;
  std::list<Segment> segments_;  // by address
  int64_t next_address_ = 0;
  int64_t large_lookups_ = 0;
  int64_t retries_ = 0;
  int next_id_ = 0;
};

}  // namespace vramplan::testing
