#include "planner/timeline/timeline.h"

namespace vramplan {

Timeline AtMost(Timeline timeline) {
  for (Block& block : timeline.blocks) {
    if (!block.most.IsZero()) block.bytes = block.most;
  }
  return timeline;
}

}  // namespace vramplan
