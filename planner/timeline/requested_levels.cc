#include "graph/base/check.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

std::vector<RequestedLevel> RequestedLevels(const Timeline& timeline) {
  std::vector<RequestedLevel> levels;
  levels.reserve(timeline.events.size());
  RequestedLevel level;
  for (const Event& event : timeline.events) {
    if (event.kind == EventKind::kAllocate || event.kind == EventKind::kFree) {
      CHECK(event.block.valid() && static_cast<size_t>(event.block.value) < timeline.blocks.size());
      const Dim bytes = timeline[event.block].bytes.polynomial();
      const double sign = event.kind == EventKind::kAllocate ? 1 : -1;
      level.c0 += sign * static_cast<double>(bytes.c0());
      level.c1 += sign * static_cast<double>(bytes.c1());
      level.c2 += sign * static_cast<double>(bytes.c2());
    }
    levels.push_back(level);
  }
  return levels;
}

}  // namespace vramplan
