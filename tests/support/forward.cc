#include "tests/support/forward.h"

#include <sstream>

#include "planner/lifetimes/lifetimes.h"

namespace vramplan::testing {

Forward::Forward(const std::string& text) {
  const bool traced = text.find('|') != text.npos;
  Call("");
  Value("x", Role::kInput);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string words;
    std::getline(fields, words, '|');
    std::istringstream parts(words);
    std::string name, path;
    Layer layer;
    if (!(parts >> name >> path >> layer.op)) continue;
    layer.name = name;
    layer.nodes = {NodeId{static_cast<int32_t>(layers_.layers.size())}};
    if (path != "-") layer.module = Call(path);
    for (std::string argument; parts >> argument;) layer.inputs.push_back(Named(argument));
    layer.outputs = {Value(name, Role::kActivation)};
    if (traced && layer.op == "batch_norm" && !layers_.layers.empty()) layer.nodes = layers_.layers.back().nodes;
    layers_.layers.push_back(layer);
    if (!traced) continue;
    layers_.source.stacks.emplace_back();
    for (std::string frame; std::getline(fields, frame, '|');) AddFrame(frame);
  }
}

std::string Forward::DiesBehind(const std::string& name, Naming naming) const {
  const auto releases = ReleasesAfter(layers_, naming);
  for (size_t l = 0; l < releases.size(); ++l) {
    for (const ValueId id : releases[l]) {
      if (layers_[id].name == name) return layers_.layers[l].name;
    }
  }
  return "never";
}

void Forward::AddFrame(const std::string& frame) {
  std::istringstream parts(frame);
  SourceLine line{{"net.py", 0, "forward"}, ""};
  parts >> line.line >> std::ws;
  std::getline(parts, line.text);
  while (line.text.ends_with(' ')) line.text.pop_back();
  layers_.source.stacks.back().push_back(static_cast<int32_t>(layers_.source.lines.size()));
  layers_.source.lines.push_back(line);
}

ModuleId Forward::Call(const std::string& path) {
  for (size_t m = 0; m < layers_.modules.size(); ++m) {
    if (layers_.modules[m].path == path) return ModuleId{static_cast<int32_t>(m)};
  }
  ModuleId parent;
  if (!path.empty()) {
    const size_t dot = path.rfind('.');
    // "blocks.3": a list is called by nobody.
    const bool listed = dot != std::string::npos && path.find_first_not_of("0123456789", dot + 1) == std::string::npos;
    const size_t end = listed ? path.rfind('.', dot - 1) : dot;
    parent = Call(end == std::string::npos ? "" : path.substr(0, end));
  }
  layers_.modules.push_back({path, "", parent});
  return ModuleId{static_cast<int32_t>(layers_.modules.size()) - 1};
}

ValueId Forward::Value(const std::string& name, Role role) {
  layers_.values.push_back({name, DType::kFloat32, Shape{Dim(1)}, role});
  return ValueId{static_cast<int32_t>(layers_.values.size()) - 1};
}

ValueId Forward::Named(const std::string& name) const {
  for (size_t v = 0; v < layers_.values.size(); ++v) {
    if (layers_.values[v].name == name) return ValueId{static_cast<int32_t>(v)};
  }
  return {};
}

}  // namespace vramplan::testing
