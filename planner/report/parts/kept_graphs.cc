#include "planner/report/parts/kept_graphs.h"

namespace vramplan {

std::optional<KeptGraphs> KeptGraphsOf(const Timeline& timeline, int64_t batch, Bytes reserved, Bytes room) {
  // A scalar of each loss is no graph.
  constexpr Bytes kLeast = Bytes::MiB(1);
  Bytes live, last, before;
  int steps = 0;
  for (const Event& event : timeline.events) {
    if (event.kind == EventKind::kAllocate) live += timeline[event.block].bytes.At(batch);
    if (event.kind == EventKind::kFree) live -= timeline[event.block].bytes.At(batch);
    if (event.kind != EventKind::kStepEnd) continue;
    before = last;
    last = live;
    ++steps;
  }
  if (steps < 2 || last < before + kLeast) return std::nullopt;
  KeptGraphs kept;
  kept.each = last - before;
  kept.full = steps + 1 + (room > reserved ? (room - reserved).count() / kept.each.count() : 0);
  return kept;
}

}  // namespace vramplan
