#include "graph/lift/merged.h"

#include <algorithm>

namespace vramplan {
namespace {

bool IsIndexing(const Layer& layer) { return layer.op == "slice" || layer.op == "select"; }

}  // namespace

void SplitMergedSlices(Layers* layers) {
  struct Use {
    int maker = -1;
    int slices = 0, others = 0;
  };
  std::vector<Use> uses(layers->values.size());
  const auto use_of = [&](ValueId id) -> Use& { return uses[static_cast<size_t>(id.value)]; };
  for (size_t l = 0; l < layers->layers.size(); ++l) {
    const Layer& layer = layers->layers[l];
    for (const ValueId id : layer.inputs) {
      if (id.valid()) ++(IsIndexing(layer) ? use_of(id).slices : use_of(id).others);
    }
    if (IsIndexing(layer)) use_of(layer.outputs[0]).maker = static_cast<int>(l);
  }
  for (const ValueId id : layers->outputs) {
    if (id.valid()) ++use_of(id).others;
  }
  const std::vector<Layer> before = std::move(layers->layers);
  layers->layers.clear();
  std::vector<bool> taken(uses.size(), false);  // by value: its first reader has it
  for (const Layer& given : before) {
    Layer layer = given;
    if (IsIndexing(layer) && layer.inputs[0].valid() && static_cast<size_t>(layer.inputs[0].value) < uses.size()) {
      const ValueId part = layer.inputs[0];
      const Use& use = use_of(part);
      if (use.maker >= 0 && use.others == 0 && use.slices > 1 && taken[static_cast<size_t>(part.value)]) {
        Layer again = before[static_cast<size_t>(use.maker)];
        again.name += "." + layer.name;
        Value copy = (*layers)[part];
        copy.name = again.name;
        layers->values.push_back(std::move(copy));
        again.outputs = {ValueId{static_cast<int32_t>(layers->values.size()) - 1}};
        layer.inputs[0] = again.outputs[0];
        layers->layers.push_back(std::move(again));
      }
      taken[static_cast<size_t>(part.value)] = true;
    }
    layers->layers.push_back(std::move(layer));
  }
}

}  // namespace vramplan
