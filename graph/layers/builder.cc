#include "graph/layers/builder.h"

#include <algorithm>
#include <utility>

#include "graph/base/check.h"

namespace vramplan {
namespace {

Value ValueFromTensor(const Graph& graph, const Shapes& shapes, TensorId id, Role role) {
  const Tensor& tensor = graph[id];
  const TensorFacts& facts = shapes[id];
  Value value{.name = tensor.name, .type = facts.type, .role = role};
  if (facts.shape.has_value()) {
    value.shape = *facts.shape;
  } else if (tensor.stored.has_value()) {
    for (const int64_t length : tensor.stored->dims) value.shape.Append(length);
  } else {
    value.shape = Shape{Dim::Unknown()};  // not even the rank is known: one axis of unknown length stands for it
  }
  if (value.type == DType::kUndefined && tensor.stored.has_value()) value.type = tensor.stored->type;
  return value;
}

}  // namespace

LayerBuilder::LayerBuilder(const Graph& graph, const Shapes& shapes) : graph_(graph), shapes_(shapes) {
  value_of_.resize(graph.tensors.size());
  layers_.values.reserve(graph.tensors.size());
  placed_of_.reserve(graph.tensors.size());
  placed_.reserve(graph.nodes.size());
  for (const TensorId input : graph.inputs) {
    const ValueId value = AddValue(ValueFromTensor(graph_, shapes_, input, Role::kInput));
    value_of_[input.index()] = value;
    layers_.inputs.push_back(value);
  }
}

ValueId LayerBuilder::AddValue(Value value) {
  const ValueId id = ValueId::At(layers_.values.size());
  if (value.role == Role::kParameter) layers_.parameters.push_back(id);
  if (value.role == Role::kBuffer) layers_.buffers.push_back(id);
  layers_.values.push_back(std::move(value));
  placed_of_.push_back(-1);
  return id;
}

ValueId LayerBuilder::ValueOf(TensorId tensor) {
  if (!tensor.valid()) return {};
  ValueId& value = value_of_[tensor.index()];
  if (!value.valid()) {
    const Role role = graph_[tensor].stored.has_value() ? Role::kConstant : Role::kActivation;
    value = AddValue(ValueFromTensor(graph_, shapes_, tensor, role));
  }
  return value;
}

bool LayerBuilder::HasValue(TensorId tensor) const { return tensor.valid() && value_of_[tensor.index()].valid(); }

void LayerBuilder::SetValueOf(TensorId tensor, ValueId value) {
  CHECK(tensor.valid() && value.valid());
  value_of_[tensor.index()] = value;
}

ValueId LayerBuilder::AddStored(TensorId tensor, Role role) {
  CHECK(graph_.IsStored(tensor));
  ValueId& value = value_of_[tensor.index()];
  if (!value.valid()) value = AddValue(ValueFromTensor(graph_, shapes_, tensor, role));
  return value;
}

void LayerBuilder::AddLayer(Layer layer, ModulePath path, std::optional<NodeId> position) {
  if (!names_.insert(layer.name).second) {
    int& count = counts_.try_emplace(layer.name, 2).first->second;  // the lowest that may be free
    while (!names_.insert(layer.name + "_" + std::to_string(count)).second) ++count;
    layer.name += "_" + std::to_string(count);
  }
  const auto index = static_cast<int32_t>(placed_.size());
  for (const ValueId output : layer.outputs) {
    if (!output.valid()) continue;
    CHECK(At(output).role == Role::kActivation);
    int32_t& maker = placed_of_[output.index()];
    CHECK(maker < 0);
    maker = index;
  }
  int32_t last = 0;
  for (const NodeId node : layer.nodes) last = std::max(last, node.value);
  if (position.has_value()) last = position->value;
  placed_.push_back({.layer = std::move(layer), .path = std::move(path), .position = last});
}

ValueId LayerBuilder::Make(Value made, std::string op, std::vector<ValueId> inputs, ModulePath path, NodeId position,
                           Attributes attributes) {
  std::string name = made.name;
  const ValueId result = AddValue(std::move(made));
  AddLayer({.op = std::move(op),
            .name = std::move(name),
            .inputs = std::move(inputs),
            .outputs = {result},
            .attributes = std::move(attributes),
            .evidence = Evidence::kProvenance},
           std::move(path), position);
  return result;
}

const Layer* LayerBuilder::MakerOf(ValueId value) const {
  if (!value.valid()) return nullptr;
  const int32_t maker = placed_of_[value.index()];
  return maker < 0 ? nullptr : &placed_[static_cast<size_t>(maker)].layer;
}

ModulePath LayerBuilder::PathOf(ValueId value) const {
  const int32_t maker = value.valid() ? placed_of_[value.index()] : -1;
  return maker < 0 ? ModulePath() : placed_[static_cast<size_t>(maker)].path;
}

void LayerBuilder::OrderPlaced() {
  if (std::ranges::is_sorted(placed_, {}, &Placed::position)) return;  // moving them all costs as much as making them
  std::ranges::stable_sort(placed_, {}, &Placed::position);
}

void LayerBuilder::OpenModules() {
  layers_.modules.push_back({.path = "", .class_name = root_class_, .parent = {}});
  struct Open {
    ModuleId module;
    std::string call;
  };
  // Another call of the same module, as in f(f(x)). If layers deeper inside came last, they may belong to either call.
  const auto is_another = [](const Open& one, const ModuleFrame& frame, bool from_inside) {
    return !from_inside && !frame.call.empty() && !one.call.empty() && one.call != frame.call;
  };
  std::vector<Open> open = {{ModuleId{0}, ""}};  // the root, then one call per frame of the last layer's path
  for (Placed& placed : placed_) {
    size_t common = 0;
    for (; common < placed.path.size() && common + 1 < open.size(); ++common) {
      const Open& one = open[common + 1];
      const ModuleFrame& frame = placed.path[common];
      const bool from_inside = common + 1 == placed.path.size() && common + 2 < open.size();
      if (layers_[one.module].path != frame.path || is_another(one, frame, from_inside)) break;
    }
    open.resize(common + 1);
    for (size_t i = 0; i < common; ++i) {
      if (!placed.path[i].call.empty()) open[i + 1].call = placed.path[i].call;
    }
    for (; common < placed.path.size(); ++common) {
      ModuleFrame& frame = placed.path[common];
      layers_.modules.push_back(
          {.path = std::move(frame.path), .class_name = std::move(frame.class_name), .parent = open.back().module});
      open.push_back({ModuleId{static_cast<int32_t>(layers_.modules.size()) - 1}, frame.call});
    }
    placed.layer.module = open.size() == 1 ? ModuleId{} : open.back().module;
  }
}

void LayerBuilder::CheckValues(Notes* notes) const {
  for (const Placed& placed : placed_) {
    for (const ValueId input : placed.layer.inputs) {
      if (!input.valid() || IsMade(input) || At(input).role != Role::kActivation) continue;
      notes->Add({.code = "unmade-value",
                  .severity = Severity::kWarning,
                  .subject = placed.layer.name,
                  .text = "its operand '" + At(input).name + "' is made by no layer"});
    }
    for (const ValueId output : placed.layer.outputs) {
      if (!output.valid() || At(output).shape.known()) continue;
      notes->Add({.code = "unknown-shape",
                  .severity = Severity::kWarning,
                  .subject = placed.layer.name,
                  .text = "the shape of its output '" + At(output).name + "' is not known"});
    }
  }
}

Layers LayerBuilder::Finish(Notes* notes) && {
  CheckValues(notes);
  OrderPlaced();
  OpenModules();
  for (const TensorId output : graph_.outputs) layers_.outputs.push_back(ValueOf(output));
  layers_.layers.reserve(placed_.size());
  for (Placed& placed : placed_) layers_.layers.push_back(std::move(placed.layer));
  return std::move(layers_);
}

}  // namespace vramplan
