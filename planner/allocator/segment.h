// What every allocator returns and reports: blocks, counters, and a picture of its segments.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/levels.h"

namespace vramplan {

struct AllocatorStatistics : Levels {
  int64_t segments = 0;  // from cudaMalloc; like PyTorch's counter, it leaves out expandable segments
  int64_t retries = 0;   // how often the device was full and a request was tried again
  bool operator==(const AllocatorStatistics&) const = default;
};

struct Allocation {
  int32_t handle = -1;  // of a live block; reused after Free
  Bytes size;           // of the block, rounding and unsplit slack included
  int64_t address = 0;
  bool operator==(const Allocation&) const = default;
};

// A picture of one segment: its blocks, free and live, in the order of their addresses.
struct SegmentBlock {
  int64_t address = 0;
  Bytes size;
  Bytes requested;      // zero if it is free
  int32_t handle = -1;  // -1 if it is free
  bool live() const { return handle >= 0; }
  bool operator==(const SegmentBlock&) const = default;
};
struct Segment {
  int64_t address = 0;
  Bytes size;
  bool small_pool = false;
  bool expandable = false;  // true: a stretch of mapped pages
  std::vector<SegmentBlock> blocks;
  bool operator==(const Segment&) const = default;
};

}  // namespace vramplan
