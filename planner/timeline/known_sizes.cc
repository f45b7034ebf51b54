#include "planner/timeline/known_sizes.h"

#include <string>
#include <vector>

namespace vramplan {
namespace {

std::string LengthsToGive(const Value& value) {
  std::string hint;
  for (int axis = 0; axis < value.shape.rank(); ++axis) {
    if (value.shape[axis].known()) continue;
    hint += (hint.empty() ? "--dim " : " --dim ") + value.name + ":" + std::to_string(axis) + "=N";
  }
  return hint;
}

}  // namespace

Status CheckKnownSizes(const Layers& layers, const Timeline& timeline) {
  for (const Block& block : timeline.blocks) {
    if (block.bytes != SizeExpr::Saturated() || block.origin.layer < 0) continue;
    const Layer& layer = layers.layers[static_cast<size_t>(block.origin.layer)];
    std::vector<ValueId> values = layer.outputs;
    values.insert(values.end(), layer.inputs.begin(), layer.inputs.end());
    for (const ValueId id : values) {
      if (!id.valid()) continue;
      const std::string lengths = LengthsToGive(layers[id]);
      if (lengths.empty()) continue;
      return Error{ErrorCode::kBadInput, layer.name,
                   "the shape of '" + layers[id].name + "', " + ToString(layers[id].shape) +
                       ", is not known, so the memory of a step is not either",
                   "give its lengths: " + lengths};
    }
  }
  return Done();
}

}  // namespace vramplan
