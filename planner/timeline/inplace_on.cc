#include "planner/timeline/inplace_on.h"

#include <algorithm>
#include <string_view>

#include "graph/layers/uses.h"

namespace vramplan {
namespace {

constexpr std::string_view kActivations[] = {"relu", "relu6",     "hardtanh", "leaky_relu", "elu",         "celu",
                                             "selu", "hardswish", "silu",     "mish",       "hardsigmoid", "rrelu"};

}  // namespace

std::vector<bool> CanBeInPlace(const Layers& layers) {
  const Uses uses(layers);
  std::vector<int> calls(layers.modules.size(), 0);
  std::vector<bool> can(layers.layers.size(), false);
  for (const Layer& layer : layers.layers) {
    if (layer.module.valid()) ++calls[static_cast<size_t>(layer.module.value)];
  }
  for (size_t l = 0; l < can.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const bool activates =
        std::find(std::begin(kActivations), std::end(kActivations), layer.op) != std::end(kActivations);
    if (!activates || layer.inputs.empty() || !layer.inputs[0].valid() || !layer.module.valid()) continue;
    can[l] = calls[static_cast<size_t>(layer.module.value)] == 1 && uses.MakerOf(layer.inputs[0]) != nullptr &&
             uses.ReadersOf(layer.inputs[0]).size() == 1;
  }
  return can;
}

}  // namespace vramplan
