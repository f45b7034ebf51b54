// Replay: feeds a Timeline to an allocator and returns the Peak: what PyTorch's counters would say, per step and
// overall, and which blocks are live at the highest moment.
//
//   two live tensors of 11.5 MiB:   requested 23 MiB, allocated 24 MiB (blocks of 12 MiB that are not split),
//                                   reserved 24 MiB
//
// Invariants: requested <= allocated <= reserved; the categories and the slack sum to `allocated` at the peak.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "graph/base/levels.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct StepPeak {
  int step = 1;
  Levels peak;  // each level's own peak within the step, its beginning included
  Phase phase =
      Phase::kForward;  // where requested peaks, first time: forward, backward (its recomputation included) or update
  Bytes after_forward, after_backward;  // requested
  bool operator==(const StepPeak&) const = default;
};

// The first moment at which `allocated` is highest.
struct PeakMoment {
  int step = 1;                   // 0 and kSetup: no step rose above the level before it
  Phase phase = Phase::kForward;  // kRecompute is kept apart here
  size_t event = 0;  // index into Timeline::events: the allocation that reaches it, or the last event of the setup
  Levels levels;     // at that moment
  std::array<Bytes, kCategories> categories{};  // requested bytes by category
  Bytes slack;                                  // allocated - requested
  std::vector<BlockId> live;                    // in order of allocation
};

struct Peak {
  Levels peak;                  // highest of each level over all steps
  std::vector<StepPeak> steps;  // one for each step that began
  PeakMoment moment;
  int64_t retries = 0;
  Bytes most_reserved;  // after any event, those of the setup included
  // The first event whose memory was refused; the replay stops there.
  std::optional<size_t> out_of_memory;
};

// All segments at PeakMoment, and the owners of the live blocks.
struct PeakSegments {
  std::vector<Segment> segments;
  std::vector<BlockId> owners;  // by SegmentBlock::handle
};

// Highest sum of what was asked for in any step, which no allocator changes.
Bytes RequestedPeak(const Timeline& timeline, int64_t batch);

// `capacity`: bytes that PyTorch's allocator may take from the device. Bytes::Max(): never out of memory. As in the
// recorded runs, the cache is emptied once, after parameters and buffers and before the rest of the setup. `segments`,
// if given, costs a second replay up to the moment.
Peak Replay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
            PeakSegments* segments = nullptr);

// How it ends; its peak takes longer to tell.
struct ReplayEnd {
  bool fits = false;
  int64_t retries = 0;
  Bytes most_reserved;
};
ReplayEnd EndOfReplay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity);

// Replay on a real card: segments come from `device`, and `placed` is called with the bytes of the card that the
// block of an event got. If it returns false the replay ends, as on a full card. `config` must have neither expandable
// segments nor bfc.
using PlacedBlock = std::function<bool(size_t event, const Allocation& block)>;
Peak ReplayOn(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
              DeviceMemory* device, const PlacedBlock& placed);

// What the allocator did at one event: the block that it handed out or took back, and `allocated` after it. Marks
// change nothing.
struct Placement {
  Bytes block;  // rounding and unsplit slack included
  Bytes allocated;
  bool operator==(const Placement&) const = default;
};
// One for each event, on a card that is never full. There are fewer only if an event requests more than 2^60 bytes.
std::vector<Placement> Placements(const Timeline& timeline, int64_t batch, const AllocatorConfig& config);

// The counters after each event, up to the first whose memory is refused.
std::vector<Levels> LevelsOver(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity);

}  // namespace vramplan
