// PeaksByPhase: the most that each phase of a step asks for.
//
//   forward 1.2 GiB, backward 1.3 GiB, update 0.9 GiB
//
// Two changes to a step that each leave the peak where it is may move it together: one in the forward, one in the
// backward. The setup's own peak does not count; a recomputation is part of the backward.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "graph/base/bytes.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

class PeaksByPhase {
 public:
  // `level`: requested bytes before or after an event of this phase, in any step.
  void Raise(Phase phase, Bytes level);
  Bytes In(Phase phase) const { return peaks_[PlaceOf(phase)]; }
  // The highest level in any step, the one that it begins with included.
  Bytes Peak() const;
  // In the order forward, backward, update.
  std::vector<Bytes> All() const { return {peaks_.begin(), peaks_.end()}; }

 private:
  static size_t PlaceOf(Phase phase);
  std::array<Bytes, 3> peaks_;
};

PeaksByPhase PeaksByPhaseOf(const Timeline& timeline, int64_t batch);

}  // namespace vramplan
