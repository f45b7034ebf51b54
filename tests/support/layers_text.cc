#include "tests/support/layers_text.h"

#include <doctest/doctest.h>

#include "graph/lift/lift.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

template <typename T>
std::string ListText(const std::vector<T>& list) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(list[i]);
  return text + "]";
}

std::string AttributeText(const AttributeValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return std::to_string(*i);
  if (const auto* r = std::get_if<double>(&value)) {
    std::string text = std::to_string(*r);
    text.erase(text.find_last_not_of('0') + 1);
    return text.back() == '.' ? text + "0" : text;
  }
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* l = std::get_if<std::vector<int64_t>>(&value)) return ListText(*l);
  if (const auto* l = std::get_if<std::vector<double>>(&value)) return ListText(*l);
  return "?";
}

}  // namespace

Layers LayersFromText(std::string_view text, Notes* notes) {
  const Graph graph = GraphFromText(text);
  Notes ignored;
  const Result<Binding> binding = Bind(graph, {}, &ignored);
  REQUIRE_MESSAGE(binding.ok(), (binding.ok() ? std::string() : ToString(binding.error())));
  const Result<Shapes> shapes = Infer(graph, *binding, &ignored);
  REQUIRE_MESSAGE(shapes.ok(), (shapes.ok() ? std::string() : ToString(shapes.error())));
  Result<Layers> layers = Lift(graph, *shapes, notes == nullptr ? &ignored : notes);
  REQUIRE_MESSAGE(layers.ok(), (layers.ok() ? std::string() : ToString(layers.error())));
  return std::move(layers).value();
}

std::string ToText(const Value& value) {
  return value.name + " " + ToString(value.shape) +
         (value.type == DType::kFloat32 ? "" : " " + std::string(Name(value.type)));
}

std::vector<std::string> ToText(const Layers& layers, const std::vector<ValueId>& values) {
  std::vector<std::string> lines;
  for (const ValueId value : values) lines.push_back(ToText(layers[value]));
  return lines;
}

std::string ToText(const Layers& layers) {
  std::string text = "\n";
  for (const Layer& layer : layers.layers) {
    text += layer.op + " " + layer.name;
    if (layer.module.valid()) text += " @" + layers[layer.module].path;
    text += " (";
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      text += (i == 0 ? "" : ", ") + (layer.inputs[i].valid() ? layers[layer.inputs[i]].name : "-");
    }
    text += ") ->";
    for (const ValueId output : layer.outputs) text += " " + (output.valid() ? ToText(layers[output]) : "-");
    if (!layer.attributes.all().empty()) {
      text += " {";
      for (const auto& [name, value] : layer.attributes.all()) {
        text += (text.back() == '{' ? "" : ", ") + name + "=" + AttributeText(value);
      }
      text += "}";
    }
    text += "\n";
  }
  return text;
}

}  // namespace vramplan
