#include "tests/support/lifted_text.h"

#include <doctest/doctest.h>

#include <sstream>

#include "graph/lift/lift.h"
#include "graph/shapes/infer.h"
#include "tests/support/onnx_text.h"

namespace vramplan::testing {
namespace {

struct Printer {
  std::ostream& out;
  void operator()(int64_t value) const { out << value; }
  void operator()(double value) const { out << value; }
  void operator()(const std::string& value) const { out << value; }
  void operator()(const std::vector<int64_t>& list) const {
    out << '[';
    for (size_t i = 0; i < list.size(); ++i) out << (i > 0 ? "," : "") << list[i];
    out << ']';
  }
  template <typename Other>
  void operator()(const Other&) const {
    out << '?';
  }
};

}  // namespace

std::vector<std::string> LinesOf(const Layers& layers) {
  std::vector<std::string> lines;
  for (const Layer& layer : layers.layers) {
    std::ostringstream out;
    if (layer.module.valid()) out << layers[layer.module].path << ": ";
    out << layer.op << '(';
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      out << (i > 0 ? ", " : "") << (layer.inputs[i].valid() ? layers[layer.inputs[i]].name : "-");
    }
    out << ") ->";
    for (const ValueId output : layer.outputs) out << ' ' << (output.valid() ? ToString(layers[output].shape) : "-");
    for (const auto& [name, value] : layer.attributes.all()) {
      out << ' ' << name << '=';
      std::visit(Printer{out}, value);
    }
    lines.push_back(out.str());
  }
  return lines;
}

Layers Lifted(std::string_view text, Notes* notes, const std::string& producer) {
  Graph graph = GraphFromText(text);
  graph.producer = producer;
  Notes own;
  if (notes == nullptr) notes = &own;
  const Result<Binding> binding = Bind(graph, {}, notes);
  REQUIRE(binding.ok());
  const Result<Shapes> shapes = Infer(graph, *binding, notes);
  REQUIRE(shapes.ok());
  Result<Layers> layers = Lift(graph, *shapes, notes);
  REQUIRE(layers.ok());
  return std::move(layers).value();
}

std::vector<std::string> LiftedLines(std::string_view text, const std::string& producer) {
  return LinesOf(Lifted(text, nullptr, producer));
}

}  // namespace vramplan::testing
