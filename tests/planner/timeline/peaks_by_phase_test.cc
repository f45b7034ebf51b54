#include "planner/timeline/peaks_by_phase.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("a phase has the highest level before and after each of its events") {
  Timeline timeline;
  timeline.blocks = {{.bytes = SizeExpr::Constant(Bytes::Of(100))}, {.bytes = SizeExpr::Constant(Bytes::Of(30))}};
  const BlockId weight{0}, made{1};
  timeline.events = {
      {.kind = EventKind::kAllocate, .phase = Phase::kSetup, .step = 0, .block = weight},
      {.kind = EventKind::kAllocate, .phase = Phase::kForward, .step = 1, .block = made},
      {.kind = EventKind::kFree, .phase = Phase::kRecompute, .step = 1, .block = made},
      {.kind = EventKind::kStepEnd, .phase = Phase::kUpdate, .step = 1},
  };
  const PeaksByPhase peaks = PeaksByPhaseOf(timeline, 1);
  CHECK(peaks.In(Phase::kForward) == Bytes::Of(130));
  CHECK(peaks.In(Phase::kBackward) == Bytes::Of(130));  // a recomputation is part of it
  CHECK(peaks.In(Phase::kUpdate) == Bytes::Of(100));
  CHECK(peaks.Peak() == Bytes::Of(130));
}

TEST_CASE("the setup's own peak does not count") {
  Timeline timeline;
  timeline.blocks = {{.bytes = SizeExpr::Constant(Bytes::Of(100))}};
  timeline.events = {
      {.kind = EventKind::kAllocate, .phase = Phase::kSetup, .step = 0, .block = BlockId{0}},
      {.kind = EventKind::kFree, .phase = Phase::kSetup, .step = 0, .block = BlockId{0}},
      {.kind = EventKind::kStepEnd, .phase = Phase::kUpdate, .step = 1},
  };
  CHECK(PeaksByPhaseOf(timeline, 1).Peak() == Bytes());
}

}  // namespace
}  // namespace vramplan
