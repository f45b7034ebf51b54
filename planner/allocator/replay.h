// Replay: a Timeline fed to an allocator gives the Peak: what PyTorch's counters would say, per step and overall, and who is live when it is
// highest.
//
// Invariants: requested <= allocated <= reserved; the categories and the slack sum to `allocated` at the peak.
#pragma once

#include <array>
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
  Levels peak;                      // of each level on its own, within the step
  Phase phase = Phase::kForward;    // where requested peaks
  Bytes after_forward, after_backward;  // requested
};

// The moment at which `allocated` is highest (the first one, when it is reached again).
struct PeakMoment {
  int step = 1;
  Phase phase = Phase::kForward;
  size_t event = 0;                 // index into Timeline::events: the allocation that reaches it
  Levels levels;                    // at that moment
  std::array<Bytes, kCategories> categories{};  // requested bytes by category
  Bytes slack;                      // allocated - requested
  std::vector<BlockId> live;        // in order of birth
};

struct Peak {
  Levels peak;                      // highest of each level over all steps
  std::vector<StepPeak> steps;
  PeakMoment moment;
  int64_t retries = 0;
  // The first event that did not get its memory; the replay stops there.
  std::optional<size_t> out_of_memory;
};

// `capacity`: bytes that PyTorch's allocator may take from the device. Bytes::Max(): never out of memory.
Peak Replay(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity);

}  // namespace vramplan
