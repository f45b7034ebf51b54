#include "graph/lift/source_lines/line_of.h"

namespace vramplan {

const SourceLine* LineOf(const Layers& layers, const Layer& layer) {
  if (layer.nodes.empty() || !layer.nodes.back().valid()) return nullptr;
  const size_t node = static_cast<size_t>(layer.nodes.back().value);
  if (node >= layers.source.stacks.size() || layers.source.stacks[node].empty()) return nullptr;
  return &layers.source.lines[static_cast<size_t>(layers.source.stacks[node].back())];
}

}  // namespace vramplan
