#include "tests/support/one_node.h"

#include <doctest/doctest.h>

#include <charconv>
#include <sstream>
#include <vector>

#include "graph/shapes/bounds.h"
#include "graph/shapes/infer.h"
#include "graph/shapes/rule.h"

namespace vramplan::testing {
namespace {

std::vector<std::string> Parts(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::stringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    if (!part.empty()) parts.push_back(part);
  }
  return parts;
}

Dim DimOf(const std::string& text) {
  if (text == "?") return Dim::Unknown();
  const size_t batch = text.find('B');
  if (batch == std::string::npos) return std::stoll(text);
  const int64_t factor = batch == 0 ? 1 : std::stoll(text);
  const int64_t rest = batch + 1 < text.size() ? std::stoll(text.substr(batch + 1)) : 0;  // "2*B+1", "B-3"
  return Dim::Polynomial(rest, factor, 0);
}

DType TypeOf(char letter) {
  switch (letter) {
    case 'f':
      return DType::kFloat32;
    case 'h':
      return DType::kFloat16;
    case 'i':
      return DType::kInt64;
    case 'j':
      return DType::kInt32;
    case 'u':
      return DType::kUint8;
    case 'b':
      return DType::kBool;
    case 's':
      return DType::kString;
    case 'c':
      return DType::kInt8;
    case 'w':
      return DType::kUint32;
  }
  VRAMPLAN_CHECK(letter == 'f');
  return DType::kUndefined;
}

char LetterOf(DType type) {
  for (char letter : {'f', 'h', 'i', 'j', 'u', 'b', 's', 'c', 'w'}) {
    if (TypeOf(letter) == type) return letter;
  }
  return '!';
}

TensorFacts FactsOf(const std::string& text) {
  TensorFacts facts;
  facts.type = TypeOf(text[0]);
  const size_t open = text.find('['), close = text.find(']'), equals = text.find('=');
  if (open == std::string::npos) return facts;
  Shape shape;
  for (const std::string& d : Parts(text.substr(open + 1, close - open - 1), ',')) shape.Append(DimOf(d));
  facts.shape = shape;
  if (equals == std::string::npos) return facts;
  const std::string values = text.substr(equals + 1);
  if (IsFloating(facts.type)) {
    facts.reals.emplace();
    for (const std::string& v : Parts(values, ',')) facts.reals->push_back(std::stod(v));
  } else {
    facts.integers.emplace();
    for (const std::string& v : Parts(values, ',')) facts.integers->push_back(DimOf(v));
  }
  return facts;
}

AttributeValue AttributeOf(const std::string& text) {
  const auto is_number = [](const std::string& t) { return t.find_first_not_of("-0123456789.e") == std::string::npos; };
  if (text[0] == '[') {
    const auto parts = Parts(text.substr(1, text.size() - 2), ',');
    if (!parts.empty() && !is_number(parts.front())) return parts;
    if (text.find('.') != std::string::npos) {
      std::vector<double> reals;
      for (const auto& p : parts) reals.push_back(std::stod(p));
      return reals;
    }
    std::vector<int64_t> integers;
    for (const auto& p : parts) integers.push_back(std::stoll(p));
    return integers;
  }
  if (!is_number(text) || text.empty()) return text;
  if (text.find('.') != std::string::npos) return std::stod(text);
  return static_cast<int64_t>(std::stoll(text));
}

std::string Compact(std::string text) {
  std::string out;
  for (char c : text) {
    if (c != ' ') out.push_back(c);
  }
  return out;
}

std::string Written(const TensorFacts& facts, bool contents) {
  std::string text(1, LetterOf(facts.type));
  if (!facts.shape) return text;
  text += Compact(ToString(*facts.shape));
  if (!contents) return text;
  text += "=";
  if (facts.integers) {
    for (size_t i = 0; i < facts.integers->size(); ++i)
      text += (i > 0 ? "," : "") + Compact(ToString((*facts.integers)[i]));
  } else if (facts.reals) {
    for (size_t i = 0; i < facts.reals->size(); ++i) {
      std::ostringstream number;
      number << (*facts.reals)[i];
      text += (i > 0 ? "," : "") + number.str();
    }
  } else {
    text += "unknown";
  }
  return text;
}

}  // namespace

std::string InferNode(const NodeCase& row, int64_t fixed_batch, Notes* notes) {
  Graph graph;
  graph.file = "test.onnx";
  graph.opsets[""] = 20;
  Binding binding;
  if (fixed_batch > 0) binding.fixed_batch = fixed_batch;
  Shapes shapes;
  Node node;
  node.name = "n";
  const std::string op = row.op;
  const size_t colon = op.find(':');
  node.op = colon == std::string::npos ? op : op.substr(colon + 1);
  node.domain = colon == std::string::npos ? "" : op.substr(0, colon);
  for (const std::string& attribute : Parts(row.attributes, ' ')) {
    const size_t equals = attribute.find('=');
    const std::string name = attribute.substr(0, equals), value = attribute.substr(equals + 1);
    if (name == "bounds") {
      TakeBounds(&binding);
    } else if (name == "opset") {
      graph.opsets[""] = std::stoll(value);
    } else {
      node.attributes.Set(name, AttributeOf(value));
    }
  }
  const auto add = [&](const TensorFacts& facts, const std::string& name) {
    graph.tensors.push_back({.name = name});
    shapes.tensors.push_back(facts);
    return TensorId{static_cast<int32_t>(graph.tensors.size()) - 1};
  };
  for (const std::string& input : Parts(row.inputs, ' ')) {
    const std::string name = "in" + std::to_string(node.inputs.size());
    node.inputs.push_back(input == "-" ? TensorId() : add(FactsOf(input), name));
  }
  const std::string expected = row.outputs;
  const bool error = expected.starts_with("error");
  const auto outputs = error ? std::vector<std::string>{"f"} : Parts(expected, ' ');
  for (const std::string& output : outputs) {
    const std::string name = "out" + std::to_string(node.outputs.size());
    node.outputs.push_back(output == "-" ? TensorId() : add({}, name));
  }
  graph.nodes.push_back(node);
  Notes unheard;
  NodeInference inference(graph, binding, &shapes, notes != nullptr ? notes : &unheard);
  InferNodes(graph, &inference);
  if (inference.failure()) {
    const std::string& why = inference.failure()->text;  // "node n (Conv): why"
    const std::string text = "error: " + why.substr(why.find("): ") + 3);
    return error ? text.substr(0, expected.size()) : text;
  }
  std::string text;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const bool absent = !node.outputs[i].valid();
    text += (i > 0 ? " " : "") +
            (absent ? "-" : Written(shapes[node.outputs[i]], outputs[i].find('=') != std::string::npos));
  }
  return text;
}

void CheckNodes(std::initializer_list<NodeCase> rows) {
  for (const NodeCase& row : rows) {
    CAPTURE(row.op);
    CAPTURE(row.attributes);
    CAPTURE(row.inputs);
    CHECK(InferNode(row) == std::string(row.outputs));
  }
}

}  // namespace vramplan::testing
