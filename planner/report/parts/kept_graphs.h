// KeptGraphs: a loop that sums losses without .item() and calls no backward (--mode eval --keep-loss-graph) keeps the
// graph of each of its batches, so that what a batch needs says nothing of the loop: it says when the card is full.
//
//   batch 1 leaves 95.70 MiB, batch 2 as much more, ...    the card is full in batch 145
#pragma once

#include <cstdint>
#include <optional>

#include "planner/timeline/timeline.h"

namespace vramplan {

struct KeptGraphs {
  Bytes each;        // left more after each batch
  int64_t full = 0;  // the batch of the loop that does not fit
};

// `reserved`: the peak of the whole timeline; `room`: what the allocator may take. Nothing: a batch leaves no more than
// the one before it.
std::optional<KeptGraphs> KeptGraphsOf(const Timeline& timeline, int64_t batch, Bytes reserved, Bytes room);

}  // namespace vramplan
