#include "graph/architectures/linear_layers.h"

#include <map>
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

std::vector<LinearLayer> LinearLayersOf(const RecordedProgram& program) {
  std::map<int32_t, std::string> modules;
  for (const RecordedProgram::Kept& stored : program.stored)
    if (stored.name.ends_with(".weight")) modules.emplace(stored.value, ModuleOfParameter(stored.name));
  std::vector<LinearLayer> layers;
  for (const RecordedProgram::Call& call : program.calls) {
    const std::optional<LinearCall> linear = LinearCallOf(call);
    if (!linear) continue;
    const auto found = modules.find(static_cast<int32_t>(call.arguments[linear->weight].integer));
    if (found != modules.end()) layers.push_back({found->second, linear->transposed});
  }
  return layers;
}

std::vector<LinearLayer> LinearLayersOf(const Facts& facts) {
  if (facts.training_program) return LinearLayersOf(*facts.training_program);
  return facts.inference_program ? LinearLayersOf(*facts.inference_program) : std::vector<LinearLayer>();
}

}  // namespace vramplan
