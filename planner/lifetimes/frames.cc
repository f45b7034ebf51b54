#include "planner/lifetimes/frames.h"

#include <algorithm>

namespace vramplan {
namespace {

// The root has a call of its own, which its layers do not name.
ModuleId WithoutRoot(const Layers& layers, ModuleId id) {
  return id.valid() && layers[id].parent.valid() ? id : ModuleId();
}

}  // namespace

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

ModuleId OutermostForeign(const Layers& layers, const Calls& calls, ModuleId producer, ModuleId consumer) {
  ModuleId outermost;
  producer = WithoutRoot(layers, producer);
  while (WithoutRoot(layers, consumer).valid()) {
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

int EndOfFrame(const Layers& layers, const Calls& calls, ModuleId frame) {
  frame = WithoutRoot(layers, frame);
  return frame.valid() ? calls.last[static_cast<size_t>(frame.value)] : static_cast<int>(layers.layers.size()) - 1;
}

int DepthOf(const Calls& calls, ModuleId frame) {
  return frame.valid() ? calls.depth[static_cast<size_t>(frame.value)] + 1 : 0;
}

Release WithFrame(const Layers& layers, const Calls& calls, ModuleId frame) {
  return {EndOfFrame(layers, calls, frame), NameOf(DepthOf(calls, frame))};
}

void Holds::Lengthen(ValueId value, Release until) {
  if (!value.valid()) return;
  Release& last = until_[value.index()];
  const bool longer = until.after > last.after || (until.after == last.after && until.holder < last.holder);
  if (last.after < 0 || !longer) return;
  last = until;
  rules_[value.index()] = rule_;
}

void Holds::Set(size_t value, Release until, const char* rule) {
  until_[value] = until;
  rules_[value] = rule;
}

}  // namespace vramplan
