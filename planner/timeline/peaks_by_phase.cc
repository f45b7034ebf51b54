#include "planner/timeline/peaks_by_phase.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {

size_t PeaksByPhase::PlaceOf(Phase phase) {
  CHECK(phase != Phase::kSetup);
  return phase == Phase::kForward ? 0 : phase == Phase::kUpdate ? 2 : 1;
}

void PeaksByPhase::Raise(Phase phase, Bytes level) {
  Bytes& peak = peaks_[PlaceOf(phase)];
  peak = std::max(peak, level);
}

Bytes PeaksByPhase::Peak() const { return std::ranges::max(peaks_); }

PeaksByPhase PeaksByPhaseOf(const Timeline& timeline, int64_t batch) {
  PeaksByPhase peaks;
  Bytes now;
  for (const Event& event : timeline.events) {
    const Bytes before = now;
    if (event.kind == EventKind::kAllocate) now += timeline[event.block].bytes.At(batch);
    if (event.kind == EventKind::kFree) now -= timeline[event.block].bytes.At(batch);
    if (event.step > 0) peaks.Raise(event.phase, std::max(before, now));
  }
  return peaks;
}

}  // namespace vramplan
