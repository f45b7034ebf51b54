#include "graph/lift/frozen.h"

#include <algorithm>
#include <set>
#include <string>
#include <string_view>

namespace vramplan {
namespace {

constexpr std::string_view kVariance = ".running_var";

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
  const auto is_frozen = [&](ValueId id) {
    const std::string& name = (*layers)[id].name;
    return modules.count(name.substr(0, name.rfind('.'))) != 0;
  };
  const auto frozen = std::stable_partition(layers->parameters.begin(), layers->parameters.end(),
                                            [&](ValueId id) { return !is_frozen(id); });
  for (auto id = frozen; id != layers->parameters.end(); ++id) {
    layers->values[static_cast<size_t>(id->value)].role = Role::kBuffer;
    layers->buffers.push_back(*id);
  }
  layers->parameters.erase(frozen, layers->parameters.end());
}

}  // namespace vramplan
