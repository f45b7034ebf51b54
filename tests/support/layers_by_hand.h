// Layers by hand: the root, one module call "m" of a class, and layers appended by the name of their operator.
//
//   LayersByHand hand;
//   const ValueId x = hand.Input("x", {Dim::Batch(), 8});
//   const ValueId y = hand.Add("relu", {x}, {Dim::Batch(), 8});
//   hand.attributes().Set("inplace", int64_t{1});      of the layer that came last
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "graph/layers/layers.h"

namespace vramplan {

class LayersByHand {
 public:
  explicit LayersByHand(std::string class_name = "mine.Block") {
    layers.modules = {{.path = "", .class_name = "mine.Net", .parent = {}},
                      {.path = "m", .class_name = std::move(class_name), .parent = ModuleId{0}}};
  }
  ValueId Input(std::string name, Shape shape) {
    const ValueId id = Make(std::move(name), DType::kFloat32, shape);
    layers.values.back().role = Role::kInput;
    layers.inputs.push_back(id);
    return id;
  }
  ValueId Parameter(std::string name, Shape shape) {
    const ValueId id = Make(std::move(name), DType::kFloat32, shape);
    layers.values.back().role = Role::kParameter;
    layers.parameters.push_back(id);
    return id;
  }
  ValueId Add(std::string op, std::vector<ValueId> inputs, Shape shape, DType type = DType::kFloat32) {
    const ValueId id = Make(op, type, shape);
    Layer layer;
    layer.op = op;
    layer.name = op + std::to_string(id.value);
    layer.inputs = std::move(inputs);
    layer.outputs = {id};
    layer.module = ModuleId{1};
    layers.layers.push_back(std::move(layer));
    return id;
  }
  Attributes& attributes() { return layers.layers.back().attributes; }

  Layers layers;

 private:
  ValueId Make(std::string name, DType type, const Shape& shape) {
    layers.values.push_back({.name = std::move(name), .type = type, .shape = shape});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  }
};

// "conv2d batch_norm relu"
inline std::string OperatorsOf(const Layers& layers) {
  std::string text;
  for (const Layer& layer : layers.layers) text += (text.empty() ? "" : " ") + layer.op;
  return text;
}

}  // namespace vramplan
