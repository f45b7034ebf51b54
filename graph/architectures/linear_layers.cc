#include "graph/architectures/linear_layers.h"

#include <algorithm>
#include <string_view>

namespace vramplan {

std::string ModuleOfParameter(const std::string& parameter) {
  for (const std::string_view ending : {".weight", ".bias"})
    if (parameter.ends_with(ending)) return parameter.substr(0, parameter.size() - ending.size());
  return "";
}

std::string LastName(const std::string& path) { return path.substr(path.rfind('.') + 1); }

std::optional<LinearCall> LinearCallOf(const RecordedProgram::Call& call) {
  const bool linear = call.target == "aten.linear.default", addmm = call.target == "aten.addmm.default";
  if ((!linear && !addmm) || call.arguments.size() < (linear ? 2 : 3)) return std::nullopt;
  return linear ? LinearCall{} : LinearCall{1, 2, 0, true};
}

RecordedArgument BiasOf(const RecordedProgram::Call& call, const LinearCall& linear) {
  const bool biased =
      call.arguments.size() > linear.bias && call.arguments[linear.bias].kind == RecordedArgument::Kind::kValue;
  return biased ? call.arguments[linear.bias] : RecordedArgument();
}

namespace {

// The values among these, also in lists.
void AddValues(const std::vector<RecordedArgument>& arguments, std::vector<int32_t>* values) {
  for (const RecordedArgument& argument : arguments) {
    if (argument.kind == RecordedArgument::Kind::kValue) values->push_back(static_cast<int32_t>(argument.integer));
    AddValues(argument.items, values);
  }
}

}  // namespace

std::vector<int32_t> ReadBy(const RecordedProgram::Call& call) {
  std::vector<int32_t> values;
  AddValues(call.arguments, &values);
  return values;
}

LinearPaths::LinearPaths(const RecordedProgram& program) : program_(program) {
  for (const RecordedProgram::Kept& stored : program.stored)
    if (stored.name.ends_with(".weight")) of_weights_.emplace(stored.value, ModuleOfParameter(stored.name));
  for (const RecordedProgram::Called& module : program.modules)
    if (module.class_name.find("Embedding") != std::string::npos) embeddings_.insert(module.path);
}

std::string LinearPaths::Of(const RecordedProgram::Call& call, const LinearCall& linear) const {
  const auto found = of_weights_.find(static_cast<int32_t>(call.arguments[linear.weight].integer));
  if (found == of_weights_.end()) return "";
  if (!embeddings_.contains(found->second) || call.module < 0) return found->second;
  return program_.modules[static_cast<size_t>(call.module)].path;
}

namespace {

// A module of another class that multiplies by a weight of its own, as the routers of mixtures of experts: bitsandbytes
// packs instances of torch.nn.Linear and Conv1D alone (transformers 5.23, integrations/bitsandbytes.py,
// replace_with_bnb_linear).
bool MultipliesItself(const RecordedProgram& program, const RecordedProgram::Call& call, std::string_view path) {
  if (call.module < 0) return false;
  const RecordedProgram::Called& module = program.modules[static_cast<size_t>(call.module)];
  return module.path == path && !module.class_name.ends_with("Linear") && !module.class_name.ends_with("Conv1D");
}

}  // namespace

std::vector<LinearLayer> LinearLayersOf(const RecordedProgram& program) {
  const LinearPaths paths(program);
  std::vector<LinearLayer> layers;
  for (const RecordedProgram::Call& call : program.calls) {
    const std::optional<LinearCall> linear = LinearCallOf(call);
    const std::string path = linear ? paths.Of(call, *linear) : "";
    if (!path.empty() && !MultipliesItself(program, call, path)) layers.push_back({path, linear->transposed});
  }
  return layers;
}

namespace {

// "vision_tower.encoder.layers.3.mlp.fc1"
bool IsInLayerOfStack(std::string_view path) {
  for (size_t dot = path.find('.'); dot != path.npos; dot = path.find('.', dot + 1))
    if (dot + 1 < path.size() && path[dot + 1] >= '0' && path[dot + 1] <= '9') return true;
  return false;
}

// Matrices that no call reads, in layers of a stack, and layers of no stack that are known to be linear.
std::vector<LinearLayer> IdleLayersOf(const RecordedProgram& program, const std::vector<std::string>& known) {
  std::vector<bool> read(program.values.size());
  for (const RecordedProgram::Call& call : program.calls)
    for (const int32_t value : ReadBy(call)) read[static_cast<size_t>(value)] = true;
  std::vector<LinearLayer> layers;
  for (const RecordedProgram::Kept& stored : program.stored) {
    const auto value = static_cast<size_t>(stored.value);
    if (!stored.name.ends_with(".weight") || program.values[value].shape.rank() != 2 || read[value]) continue;
    const std::string path = ModuleOfParameter(stored.name);
    if (IsInLayerOfStack(path) || std::ranges::find(known, path) != known.end()) layers.push_back({path});
  }
  return layers;
}

}  // namespace

std::vector<LinearLayer> LinearLayersOf(const Facts& facts) {
  if (!facts.training_program && !facts.inference_program) return {};
  const RecordedProgram& program = facts.training_program ? *facts.training_program : *facts.inference_program;
  std::vector<LinearLayer> layers = IdleLayersOf(program, facts.idle), called = LinearLayersOf(program);
  layers.insert(layers.end(), called.begin(), called.end());
  return layers;
}

}  // namespace vramplan
