#include "planner/report/parts/bottleneck.h"

namespace vramplan {

std::string WhenText(const Bottleneck& at) {
  return at.step == 0 ? "before step 1"
                      : "in the " + std::string(Name(at.phase)) + " of step " + std::to_string(at.step);
}

std::string RequestText(const Bottleneck& at) {
  const std::string text = ToString(at.bytes) + " for " + at.tensor;
  return at.node.empty() ? text : text + ", at " + at.node;
}

}  // namespace vramplan
