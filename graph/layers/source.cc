#include "graph/layers/source.h"

namespace vramplan {

// SwishImplementation.apply(x) calls the forward of a torch.autograd.Function, which is no module's. Nor is the one in
// torch/utils/checkpoint.py (2.10), which checkpoint_sequential makes of each segment.
std::vector<int32_t> Source::ForwardsOf(NodeId node) const {
  std::vector<int32_t> forwards;
  if (!node.valid() || static_cast<size_t>(node.value) >= stacks.size()) return forwards;
  bool applied = false;
  for (const int32_t line : stacks[static_cast<size_t>(node.value)]) {
    const SourceLine& one = lines[static_cast<size_t>(line)];
    const bool of_segment = one.file.ends_with("torch/utils/checkpoint.py");
    if (one.function == "forward" && !applied && !of_segment) forwards.push_back(line);
    applied = one.text.find(".apply(") != std::string::npos;
  }
  return forwards;
}

}  // namespace vramplan
