// Segments: how the allocator's memory lies at the peak, and what of it is free but of no use to the next request.
//
//   segment  pool     size       free       largest hole
//         3  large    20.00 MiB  11.88 MiB  11.88 MiB     ########............
//
// Free is one of three things: a segment that is wholly free goes back to the driver when the card is full; a hole
// beside live blocks serves only requests that fit into it, until its neighbours die; the small pool serves only
// requests of up to 1 MiB (kSmallSize of c10/cuda/CUDACachingAllocator.cpp). Invariant: the three sum to reserved -
// allocated.
#pragma once

#include <string>

#include "planner/allocator/replay.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct FreeMemory {
  Bytes whole_segments, holes, small_pool;
  Bytes largest_hole;
  int whole = 0, torn = 0, small = 0;  // segments of each kind
  bool operator==(const FreeMemory&) const = default;
};
Bytes FreeOf(const Segment& segment);
Bytes LargestHole(const Segment& segment);
FreeMemory FreeIn(const std::vector<Segment>& segments);

std::string PrintSegments(const PeakSegments& at_peak, const PeakMoment& moment, const Style& style);

}  // namespace vramplan
