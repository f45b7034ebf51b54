// FindLargestBatch: the largest batch whose step fits, proved by replays of the framework's own allocator at that batch
// (fits) and at the next one (does not).
//
//   requested |                        .      doubling: 1 2 4 ... 64 fit, 128 does not;
//   capacity  |------------------o--x------   halving: 96 fits, 112 does not, 104, 108 ... 106 fits, 107 does not.
//             |            .  .               The ideal peak, one matrix product for any batch, answers for batches far
//             +---------------------------- batch    from the limit. Near the limit one layout is replayed at each
//                                                    batch; the two batches of the answer get their own layouts.
//
// Why doubling and halving: near the limit, fragmentation sometimes lets a larger batch fit although a smaller one
// fails. A search on a real card tries these same batches, so both find the same answer.
//
// Invariants: `largest_batch` + 1 == `first_failing_batch`; both were replayed. If the batch that the user typed fits,
// the answer is not below it.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/result.h"
#include "planner/allocator/replay.h"
#include "planner/solver/bottleneck.h"
#include "planner/solver/steps.h"

namespace vramplan {

// The search ends here: a step that fits with so many samples is not limited by memory.
inline constexpr int64_t kLargestBatchTried = int64_t{1} << 20;

// Contiguity is special at batch 1, so that a search which knows nothing begins with the coefficients of this layout.
inline constexpr int64_t kFirstBatchLaidOut = 2;

struct LargestBatch {
  int64_t largest_batch = 0;                   // 0: not even 1 fits
  std::optional<int64_t> first_failing_batch;  // nothing: kLargestBatchTried fits
  std::optional<Peak> peak;                    // at largest_batch, within the capacity
  std::optional<Bottleneck> bottleneck;        // at first_failing_batch
  int replays = 0;
};

// `capacity`: bytes that the allocator may take. `asked`: if this batch fits, the answer is not below it.
// `near`: a guess of the answer, which only makes the search shorter.
// Errors: those of the layout.
Result<LargestBatch> FindLargestBatch(Steps& steps, const Layers& layers, const AllocatorConfig& config, Bytes capacity,
                                      int64_t asked = 1, int64_t near = 1);
Result<LargestBatch> FindLargestBatch(const Layout& layout, const Layers& layers, const AllocatorConfig& config,
                                      Bytes capacity, int64_t asked = 1, int64_t near = 1);

// The same batch alone: without the peak there, and what was refused to the next one, fewer replays are needed.
Result<int64_t> LargestBatchAlone(Steps& steps, const Layers& layers, const AllocatorConfig& config, Bytes capacity,
                                  int64_t asked = 1, int64_t near = 1);

// The largest batch of 1 .. limit whose requested bytes, from this timeline's coefficients, stay within the capacity;
// 0 if there is none.
int64_t IdealBatch(const Timeline& timeline, Bytes capacity, int64_t limit);

}  // namespace vramplan
