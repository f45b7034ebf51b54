#include "graph/base/check.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

Eigen::Matrix<double, Eigen::Dynamic, 3> LevelCoefficients(const Timeline& timeline) {
  // Sums of at most 2^53 bytes are exact in a double.
  Eigen::Matrix<double, Eigen::Dynamic, 3> levels(static_cast<Eigen::Index>(timeline.events.size()), 3);
  double level[3] = {0, 0, 0};
  Eigen::Index row = 0;
  for (const Event& event : timeline.events) {
    if (event.kind == EventKind::kAllocate || event.kind == EventKind::kFree) {
      CHECK(event.block.valid() && static_cast<size_t>(event.block.value) < timeline.blocks.size());
      const Dim bytes = timeline[event.block].bytes.polynomial();
      const double sign = event.kind == EventKind::kAllocate ? 1 : -1;
      level[0] += sign * static_cast<double>(bytes.c0());
      level[1] += sign * static_cast<double>(bytes.c1());
      level[2] += sign * static_cast<double>(bytes.c2());
    }
    for (int power = 0; power < 3; ++power) levels(row, power) = level[power];
    ++row;
  }
  return levels;
}

}  // namespace vramplan
