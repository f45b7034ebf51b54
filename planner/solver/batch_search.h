// FindLargestBatch: the largest batch whose step fits, proved by replays of the framework's own allocator at that batch
// (fits) and at the next one (does not).
//
//   requested |                        .      doubling: 1 2 4 ... 64 fit, 128 does not;
//   capacity  |------------------o--x------   halving: 96 fits, 112 does not, 104, 108 ... 106 fits, 107 does not.
//             |            .  .               The ideal peak, one matrix product for any batch, answers for batches far
//             +---------------------------- batch    from the limit. Near it one layout is replayed at each; the two
//                                                    batches of the answer are laid out and replayed by themselves.
//
// Why doubling and halving: near the limit fragmentation makes a larger batch fit now and then although a smaller one
// fails, and these are the batches that a search on a real card tries, so both find the same one.
//
// Invariants: `largest_batch` + 1 == `first_failing_batch`; both were replayed. A batch that was asked for and fits is
// never above the answer.
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

// `capacity`: bytes that the allocator may take. `asked`: a batch that, when it fits, the answer must
// not be below. `near`: a batch that is thought to be near the answer; it only makes the search shorter. Errors: those
// of `layout`.
Result<LargestBatch> FindLargestBatch(const Layout& layout, const Layers& layers, const AllocatorConfig& config,
                                      Bytes capacity, int64_t asked = 1, int64_t near = 1);

// The largest batch of 1 .. limit whose requested bytes stay within the capacity by the coefficients of this timeline;
// 0 when none does.
int64_t IdealBatch(const Timeline& timeline, Bytes capacity, int64_t limit);

}  // namespace vramplan
