#include "planner/timeline/lifetimes.h"

#include <algorithm>

namespace vramplan {
namespace {

struct Calls {
  std::vector<int> last;   // by module call: its last layer
  std::vector<int> depth;  // by module call
};

Calls CallsOf(const Layers& layers) {
  Calls calls;
  calls.last.assign(layers.modules.size(), -1);
  calls.depth.assign(layers.modules.size(), 0);
  for (size_t m = 0; m < layers.modules.size(); ++m) {
    const ModuleId parent = layers.modules[m].parent;
    if (parent.valid()) calls.depth[m] = calls.depth[static_cast<size_t>(parent.value)] + 1;
  }
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    for (ModuleId m = layers.layers[l].module; m.valid(); m = layers[m].parent) {
      calls.last[static_cast<size_t>(m.value)] = static_cast<int>(l);
    }
  }
  return calls;
}

// The outermost call around `consumer` that `producer` (invalid: the caller) is not inside of; invalid when they share
// their innermost.
ModuleId OutermostForeign(const Layers& layers, const Calls& calls, ModuleId producer, ModuleId consumer) {
  ModuleId outermost;
  while (consumer.valid()) {
    ModuleId around = producer;
    while (around.valid() &&
           calls.depth[static_cast<size_t>(around.value)] > calls.depth[static_cast<size_t>(consumer.value)]) {
      around = layers[around].parent;
    }
    if (around == consumer) break;
    outermost = consumer;
    consumer = layers[consumer].parent;
  }
  return outermost;
}

}  // namespace

std::vector<std::vector<ValueId>> ReleasesAfter(const Layers& layers) {
  const Calls calls = CallsOf(layers);
  std::vector<ModuleId> producer(layers.values.size());
  std::vector<int> release(layers.values.size(), -1);
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    for (ValueId input : layer.inputs) {
      if (!input.valid() || layers[input].role != Role::kActivation) continue;
      const ModuleId foreign =
          OutermostForeign(layers, calls, producer[static_cast<size_t>(input.value)], layer.module);
      const int until = foreign.valid() ? calls.last[static_cast<size_t>(foreign.value)] : static_cast<int>(l);
      int& last = release[static_cast<size_t>(input.value)];
      last = std::max(last, until);
    }
    for (ValueId output : layer.outputs) {
      if (!output.valid()) continue;
      producer[static_cast<size_t>(output.value)] = layer.module;
      release[static_cast<size_t>(output.value)] = static_cast<int>(l);  // unused so far: dies at once
    }
  }
  for (ValueId output : layers.outputs) {
    if (output.valid()) release[static_cast<size_t>(output.value)] = -1;
  }
  std::vector<std::vector<ValueId>> after(layers.layers.size());
  for (size_t v = 0; v < release.size(); ++v) {
    if (release[v] >= 0 && layers.values[v].role == Role::kActivation) {
      after[static_cast<size_t>(release[v])].push_back(ValueId{static_cast<int32_t>(v)});
    }
  }
  return after;
}

}  // namespace vramplan
