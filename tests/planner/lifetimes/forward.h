#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planner/lifetimes/lifetimes.h"

namespace vramplan {

// A forward as lines "module: op(arguments) name"; the answer says by name behind which line each result dies.
struct ForwardByHand {
  ForwardByHand() { Call(""); }

  ModuleId Call(const std::string& path) {
    for (size_t m = layers.modules.size(); m-- > 0;) {
      if (layers.modules[m].path == path) return ModuleId{static_cast<int32_t>(m)};
    }
    ModuleId parent;
    if (!path.empty()) {
      const size_t dot = path.rfind('.');
      parent = Call(dot == std::string::npos ? "" : path.substr(0, dot));
    }
    layers.modules.push_back({path, "", parent});
    return ModuleId{static_cast<int32_t>(layers.modules.size()) - 1};
  }
  ValueId Value(Role role, const Shape& shape) {
    layers.values.push_back({std::to_string(layers.values.size()), DType::kFloat32, shape, role});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  }
  ValueId Run(const std::string& name, const std::string& path, const std::string& op, std::vector<ValueId> inputs,
              const Shape& shape = Shape{Dim(1)}) {
    Layer layer;
    layer.op = op;
    layer.name = name;
    if (!path.empty()) layer.module = Call(path);
    layer.inputs = std::move(inputs);
    layer.outputs = {Value(Role::kActivation, shape)};
    layers.layers.push_back(layer);
    return layer.outputs[0];
  }
  // Layers from here on run in another call of this module.
  void CallAnew(const std::string& path) { layers.modules.push_back({path, "", Call("")}); }
  std::string DiesBehind(ValueId value, Naming naming = Naming::kLikely) const {
    const auto releases = ReleasesAfter(layers, naming);
    for (size_t l = 0; l < releases.size(); ++l) {
      for (const ValueId id : releases[l]) {
        if (id == value) return layers.layers[l].name;
      }
    }
    return "never";
  }

  Layers layers;
  ValueId x = Value(Role::kInput, Shape{Dim(1)});
};

}  // namespace vramplan
