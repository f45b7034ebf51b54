#include "graph/lift/frozen.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace vramplan {
namespace {

constexpr std::string_view kVariance = ".running_var";

// Parameters that are not trained are buffers.
template <typename IsFrozen>
void Freeze(Layers* layers, const IsFrozen& is_frozen) {
  const auto frozen = std::stable_partition(layers->parameters.begin(), layers->parameters.end(),
                                            [&](ValueId id) { return !is_frozen((*layers)[id].name); });
  for (auto id = frozen; id != layers->parameters.end(); ++id) {
    layers->values[static_cast<size_t>(id->value)].role = Role::kBuffer;
    layers->buffers.push_back(*id);
  }
  layers->parameters.erase(frozen, layers->parameters.end());
}

}  // namespace

void FreezeBatchNorms(Layers* layers) {
  std::set<ValueId> normalised;  // read by a batch norm
  for (const Layer& layer : layers->layers) {
    if (layer.op == "batch_norm") normalised.insert(layer.inputs.begin(), layer.inputs.end());
  }
  std::set<std::string> modules;
  for (const ValueId id : layers->parameters) {
    const std::string& name = (*layers)[id].name;
    if (name.ends_with(kVariance) && normalised.count(id) == 0)
      modules.insert(name.substr(0, name.size() - kVariance.size()));
  }
  if (modules.empty()) return;
  Freeze(layers, [&](const std::string& name) { return modules.count(name.substr(0, name.rfind('.'))) != 0; });
}

void FreezeEncoderPositions(Layers* layers) {
  constexpr std::string_view kTable = "embed_positions.weight";
  std::set<std::string> names;
  for (const ValueId id : layers->parameters) names.insert((*layers)[id].name);
  Freeze(layers, [&](const std::string& name) {
    if (!name.ends_with(kTable)) return false;
    const std::string encoder = name.substr(0, name.size() - kTable.size());
    return names.count(encoder + "conv1.weight") != 0 && names.count(encoder + "conv2.weight") != 0;
  });
}

}  // namespace vramplan
