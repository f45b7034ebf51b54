// FindLargestBatch: the largest batch whose step fits, proved by replays of the framework's own allocator at that batch
// (fits) and at the next one (does not).
//
//   requested |                        .  x   the ideal peak (one matrix product for any batch) first exceeds the
//   capacity  |------------------o--x--x---   capacity at 113: start there. Blocks, segments and fragmentation only
//             |            .  .               make it worse, so step down 113, 112, 110, 106 ... until one fits, then
//             +---------------------------- batch                                                 halve the gap.
//
// Invariants: `largest_batch` + 1 == `first_failing_batch`, and no smaller batch that was tried fails. Fragmentation
// makes some larger batch fit now and then although a smaller one fails; such a batch is never claimed.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "graph/base/result.h"
#include "planner/allocator/replay.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

// The search ends there: what holds so many samples is not bound by memory.
inline constexpr int64_t kLargestBatchTried = int64_t{1} << 20;

// Lays the step out at a batch (Schedule, with everything else fixed).
using Layout = std::function<Result<Timeline>(int64_t batch)>;

struct LargestBatch {
  int64_t largest_batch = 0;                   // 0: not even 1 fits
  std::optional<int64_t> first_failing_batch;  // nothing: kLargestBatchTried fits
  std::optional<Peak> peak;                    // at largest_batch, within the capacity
  std::optional<Bottleneck> bottleneck;        // at first_failing_batch
  int replays = 0;
};

// `capacity`: bytes that the allocator may take. `asked`: a batch that is tried first; when it fits, the answer is no
// smaller. Errors: those of `layout`.
Result<LargestBatch> FindLargestBatch(const Layout& layout, const Layers& layers, const AllocatorConfig& config,
                                      Bytes capacity, int64_t asked = 1);

// The largest batch of 1 .. limit whose requested bytes stay within the capacity by the coefficients of this timeline;
// 0 when none does.
int64_t IdealBatch(const Timeline& timeline, Bytes capacity, int64_t limit);

}  // namespace vramplan
