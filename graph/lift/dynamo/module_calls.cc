// Calls of torch.nn's modules whose one operator the dynamo exporter takes apart: put back by the module's class.
//
//   in nn.RMSNorm: pow, mean, add, rsqrt, mul, mul        ->   rms_norm(input, weight)
//   in nn.Dropout2d: bernoulli, div, mul                  ->   feature_dropout(input)
//   in nn.RNN: a linear, an add and a tanh for each step   ->   rnn(input, -, -, weights...)
#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <string_view>

#include "graph/base/text.h"
#include "graph/layers/edit.h"
#include "graph/layers/uses.h"
#include "graph/lift/dynamo/passes.h"

namespace vramplan {
namespace {

struct ClassRow {
  std::string_view class_name;  // behind "torch.nn.modules."
  std::string_view op;
};
constexpr std::array<ClassRow, 8> kClasses = {{{"normalization.RMSNorm", "rms_norm"},
                                               {"dropout.Dropout1d", "feature_dropout"},
                                               {"dropout.Dropout2d", "feature_dropout"},
                                               {"dropout.Dropout3d", "feature_dropout"},
                                               {"activation.Softshrink", "softshrink"},
                                               {"activation.Hardshrink", "hardshrink"},
                                               {"activation.Threshold", "threshold"},
                                               {"rnn.RNN", "rnn"}}};

std::string_view OperatorOfClass(std::string_view class_name) {
  constexpr std::string_view kPrefix = "torch.nn.modules.";
  if (class_name.substr(0, kPrefix.size()) != kPrefix) return {};
  class_name.remove_prefix(kPrefix.size());
  for (const ClassRow& row : kClasses) {
    if (row.class_name == class_name) return row.op;
  }
  return {};
}

// What a call's layers take from outside and leave behind.
struct Frame {
  std::vector<size_t> layers;
  std::vector<ValueId> operands, parameters;  // in the order of their first use
};

void AddOnce(std::vector<ValueId>* list, ValueId id) {
  if (std::find(list->begin(), list->end(), id) == list->end()) list->push_back(id);
}

std::map<int32_t, Frame> FramesOf(const Layers& layers) {
  std::map<int32_t, Frame> frames;
  std::map<ValueId, int32_t> made_in;
  for (size_t l = 0; l < layers.layers.size(); ++l) {
    const Layer& layer = layers.layers[l];
    const ModuleId call = layer.module;
    if (!call.valid() || OperatorOfClass(layers[call].class_name).empty()) continue;
    Frame& frame = frames[call.value];
    frame.layers.push_back(l);
    for (const ValueId id : layer.inputs) {
      if (!id.valid()) continue;
      const Role role = layers[id].role;
      if (role == Role::kParameter) AddOnce(&frame.parameters, id);
      if (role != Role::kActivation && role != Role::kInput) continue;
      const auto maker = made_in.find(id);
      if (maker == made_in.end() || maker->second != call.value) AddOnce(&frame.operands, id);
    }
    for (const ValueId id : layer.outputs) {
      if (id.valid()) made_in[id] = call.value;
    }
  }
  return frames;
}

// weight_ih_l0, weight_hh_l0, bias_ih_l0, ...: names end as torch.nn.modules.rnn registers them.
void MakeRecurrent(const Layers& layers, Layer* call) {
  std::vector<ValueId> weights(call->inputs.begin() + 1, call->inputs.end());
  const ValueId x = call->inputs[0];
  call->inputs = {x, {}, {}};
  int64_t layers_of = 0, reversed = 0;
  for (const ValueId id : layers.parameters) {  // in the module's order
    if (!Contains(weights, id)) continue;
    call->inputs.push_back(id);
    const std::string& name = layers[id].name;
    if (name.find("weight_ih_l") == std::string::npos) continue;
    name.ends_with("_reverse") ? ++reversed : ++layers_of;
    if (layers[id].shape.rank() == 2 && layers[id].shape[0].IsConstant())
      call->attributes.Set("hidden_size", layers[id].shape[0].c0());
  }
  const Shape& input = layers[x].shape;
  call->attributes.Set("num_layers", layers_of);
  call->attributes.Set("bidirectional", static_cast<int64_t>(reversed > 0));
  call->attributes.Set("batch_first", static_cast<int64_t>(input.rank() == 3 && !input[0].IsConstant()));
}

std::optional<Layer> CallOf(const Layers& layers, const Frame& frame) {
  const Layer& last = layers.layers[frame.layers.back()];
  const std::string_view op = OperatorOfClass(layers[last.module].class_name);
  const bool whole = frame.layers.size() == 1 && last.op == op;
  if (whole || frame.operands.size() != 1 || last.outputs.size() != 1) return std::nullopt;
  Layer call{.op = std::string(op), .name = last.name, .inputs = {frame.operands[0]}, .outputs = last.outputs};
  call.inputs.insert(call.inputs.end(), frame.parameters.begin(), frame.parameters.end());
  call.module = last.module;
  call.evidence = Evidence::kProvenance;
  for (const size_t l : frame.layers) {
    const Layer& layer = layers.layers[l];
    call.nodes.insert(call.nodes.end(), layer.nodes.begin(), layer.nodes.end());
  }
  if (op == "rnn") MakeRecurrent(layers, &call);
  return call;
}

}  // namespace

void GatherModuleCalls(Layers* layers) {
  const Uses uses(*layers);
  Edit edit(layers);
  for (const auto& [module, frame] : FramesOf(*layers)) {
    // Nothing but the last layer's output is read outside.
    const auto is_inside = [&, inside = module](int32_t place) {
      const size_t l = static_cast<size_t>(place);
      return l < layers->layers.size() && layers->layers[l].module.value == inside;
    };
    bool closed = true;
    for (size_t i = 0; i + 1 < frame.layers.size(); ++i) {
      for (const ValueId id : layers->layers[frame.layers[i]].outputs)
        closed = closed && std::ranges::all_of(uses.ReadersOf(id), is_inside);
    }
    std::optional<Layer> call = closed ? CallOf(*layers, frame) : std::nullopt;
    if (!call) continue;
    layers->layers[frame.layers.back()] = std::move(*call);
    for (size_t i = 0; i + 1 < frame.layers.size(); ++i) edit.Remove(frame.layers[i]);
  }
  edit.Apply();
}

}  // namespace vramplan
