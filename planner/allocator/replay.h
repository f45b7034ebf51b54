// Replay: a Timeline fed to an allocator gives the Peak: what PyTorch's counters would say, per step and overall, and
// who is live when it is highest.
//
//   two tensors of 11.5 MiB live at once:   requested 23 MiB, allocated 24 MiB (12 MiB blocks, not split), reserved 24
//   MiB
//
// Invariants: requested <= allocated <= reserved; the categories and the slack sum to `allocated` at the peak.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <vector>

#include "planner/allocator/caching_allocator.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct Levels {
  Bytes requested, allocated, reserved;
  bool operator==(const Levels&) const = default;
};

struct StepPeak {
  int step = 1;
  Levels peak;  // of each level on its own, within the step; the level it begins with counts
  Phase phase =
      Phase::kForward;  // where requested peaks, first time: forward, backward (its recomputation included) or update
  Bytes after_forward, after_backward;  // requested
  bool operator==(const StepPeak&) const = default;
};

// The moment at which `allocated` is highest (the first one, when it is reached again).
struct PeakMoment {
  int step = 1;                   // 0 and kSetup: nothing in a step rose above what was there before
  Phase phase = Phase::kForward;  // kRecompute is kept apart here
  size_t event = 0;  // index into Timeline::events: the allocation that reaches it, or the last event of the setup
  Levels levels;     // at that moment
  std::array<Bytes, kCategories> categories{};  // requested bytes by category
  Bytes slack;                                  // allocated - requested
  std::vector<BlockId> live;                    // in order of birth
};

struct Peak {
  Levels peak;                  // highest of each level over all steps
  std::vector<StepPeak> steps;  // one for each step that began
  PeakMoment moment;
  int64_t retries = 0;
  // The first event that did not get its memory; the replay stops there.
  std::optional<size_t> out_of_memory;
};

// All segments at PeakMoment, and whose the live blocks are.
struct PeakSegments {
  std::vector<Segment> segments;
  std::vector<BlockId> owners;  // by SegmentBlock::handle
};

// `capacity`: bytes that PyTorch's allocator may take from the device. Bytes::Max(): never out of memory.
// The cache is emptied once, after parameters and buffers and before anything else of the setup, as the recorded runs
// did. `segments`, when given, costs a second replay up to the moment.
Peak Replay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
            PeakSegments* segments = nullptr);

// The same on a card that is there: segments come from `device`, and `placed` hears which bytes of the card the block
// of an event got; false from it ends the replay, as a full card does. `config` has neither expandable segments nor
// bfc.
using PlacedBlock = std::function<bool(size_t event, const Allocation& block)>;
Peak ReplayOn(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
              DeviceMemory* device, const PlacedBlock& placed);

// What the allocator did at one event: the block that was given or taken back, and `allocated` after it. Marks move
// nothing.
struct Placement {
  Bytes block;  // rounding and unsplit slack included
  Bytes allocated;
  bool operator==(const Placement&) const = default;
};
// One an event, on a card that is never full: fewer only when an event asks for more than 2^60 bytes.
std::vector<Placement> Placements(const Timeline& timeline, int64_t batch, const AllocatorConfig& config);

}  // namespace vramplan
