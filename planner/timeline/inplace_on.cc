#include "planner/timeline/inplace_on.h"

#include <algorithm>
#include <string_view>

namespace vramplan {
namespace {

constexpr std::string_view kActivations[] = {"relu", "relu6",     "hardtanh", "leaky_relu", "elu",         "celu",
                                             "selu", "hardswish", "silu",     "mish",       "hardsigmoid", "rrelu"};

}  // namespace

std::vector<bool> CanBeInPlace(const Layers& layers) {
  std::vector<int> readers(layers.values.size(), 0), calls(layers.modules.size(), 0);
  std::vector<bool> made(layers.values.size(), false), can(layers.layers.size(), false);
  const auto index = [](ValueId id) { return static_cast<size_t>(id.value); };
  for (const Layer& layer : layers.layers) {
    if (layer.module.valid()) ++calls[static_cast<size_t>(layer.module.value)];
    for (const ValueId id : layer.inputs) {
      if (id.valid()) ++readers[index(id)];
    }
    for (const ValueId id : layer.outputs) {
      if (id.valid()) made[index(id)] = true;
    }
  }
  for (const ValueId id : layers.outputs) {
    if (id.valid()) ++readers[index(id)];
  }
  for (size_t l = 0; l < can.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const bool activates =
        std::find(std::begin(kActivations), std::end(kActivations), layer.op) != std::end(kActivations);
    if (!activates || layer.inputs.empty() || !layer.inputs[0].valid() || !layer.module.valid()) continue;
    const size_t operand = index(layer.inputs[0]);
    can[l] = calls[static_cast<size_t>(layer.module.value)] == 1 && made[operand] && readers[operand] == 1;
  }
  return can;
}

}  // namespace vramplan
