#include "graph/lift/why.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include "graph/base/text.h"

namespace vramplan {
namespace {

std::string NameOf(const Graph& graph, NodeId node) {
  const Node& of = graph[node];
  return of.name.empty() ? of.op : of.name;
}

std::string AnyOf(std::string_view ops) {
  std::string text;
  for (const std::string_view op : TextsIn(ops, '|')) text += (text.empty() ? "" : " or ") + std::string(op);
  return text;
}

std::string Short(double number) {
  std::array<char, 32> text;
  return {text.data(), static_cast<size_t>(std::snprintf(text.data(), text.size(), "%g", number))};
}

std::string TextOfCall(const Layer& layer, const Layers& layers, const Graph& graph) {
  std::string text = layer.op + "(";
  for (size_t i = 0; i < layer.inputs.size(); ++i) {
    const ValueId id = layer.inputs[i];
    text += (i == 0 ? "" : ", ") + (id.valid() ? layers[id].name : std::string("-"));
  }
  text += "), made of ";
  for (size_t i = 0; i < layer.nodes.size(); ++i) text += (i == 0 ? "" : ", ") + NameOf(graph, layer.nodes[i]);
  return text + (layer.evidence == Evidence::kProvenance ? ", as the exporter says" : "");
}

}  // namespace

std::string ReasonOf(const Mismatch& mismatch, const Graph& graph, const CallGraph& calls) {
  using enum Mismatch::Reason;
  std::string text = std::string(mismatch.form) + ": ";
  if (mismatch.reason == kRefused) return text + "all of it is there; a condition in the code of its row refused";
  text += "operand " + std::to_string(mismatch.operand + 1) + " of " + NameOf(graph, NodeId{mismatch.call});
  const std::string wanted = AnyOf(mismatch.wanted);
  const int32_t maker = mismatch.value < 0 ? -1 : calls.MakerOf(mismatch.value);
  const std::string made_by = maker < 0 ? "" : std::string(calls.OpOf(maker)) + " " + NameOf(graph, NodeId{maker});
  switch (mismatch.reason) {
    case kOperator:
      return text + " is made by " + made_by + ", not by " + wanted;
    case kNoCall:
      if (const auto number = calls.NumberAt(mismatch.call, mismatch.operand))
        return text + " is the number " + Short(*number) + ", not made by " + wanted;
      return text + ", " + graph[TensorId{mismatch.value}].name + ", is an input or stored, not made by " + wanted;
    case kShared:
      return text + ", made by " + made_by + ", is read elsewhere, too";
    case kNumber:
      return text + " is " + Short(calls.NumberAt(mismatch.call, mismatch.operand).value_or(0)) + ", not " +
             Short(mismatch.number);
    case kNoNumber:
      return text + " is no number";
    case kOtherValue:
      return text + " is not what " + wanted + " stands for elsewhere in it";
    case kAbsent:
      return text + " is absent";
    case kPresent:
      return text + " is there";
    case kRefused:
      break;
  }
  return text;
}

void AddStage(std::string_view name, const Layers& layers, const Graph& graph, Why* why) {
  Why::Stage stage{.name = std::string(name), .calls = {}};
  for (const Layer& layer : layers.layers) {
    if (std::ranges::find(layer.nodes, why->node) != layer.nodes.end())
      stage.calls.push_back(TextOfCall(layer, layers, graph));
  }
  if (why->stages.empty() || why->stages.back().calls != stage.calls) why->stages.push_back(std::move(stage));
}

}  // namespace vramplan
