#include <algorithm>
#include <map>

#include "planner/timeline/run.h"

namespace vramplan {

eager::ParameterUses ModelRun::Uses() const {
  eager::ParameterUses uses;
  for (size_t l = 0; l < layers_.layers.size(); ++l) {
    for (ValueId id : layers_.layers[l].inputs) {
      if (!id.valid() || (layers_[id].role != Role::kParameter && layers_[id].role != Role::kBuffer)) continue;
      const eager::Tensor& tensor = resident_[static_cast<size_t>(id.value)];
      uses.layer_of.emplace(tensor.get(), static_cast<int32_t>(l));
      if (layers_.layers[l].op == "embedding" && layers_[id].role == Role::kParameter)
        uses.embeddings.push_back(tensor);
    }
  }
  return uses;
}

// Modules in the order of their first parameter, those without one last; a module's parameters before its buffers.
std::vector<eager::Tensor> ModelRun::StateDict() const {
  std::map<std::string, size_t> module_number;
  std::vector<std::vector<eager::Tensor>> of_modules;
  for (const auto* list : {&layers_.parameters, &layers_.buffers}) {
    for (ValueId id : *list) {
      const std::string& path = layers_[id].name;
      const std::string module = path.substr(0, std::min(path.rfind('.'), path.size()));
      const auto [place, fresh] = module_number.emplace(module, of_modules.size());
      if (fresh) of_modules.emplace_back();
      of_modules[place->second].push_back(resident_[static_cast<size_t>(id.value)]);
    }
  }
  std::vector<eager::Tensor> all;
  for (const auto& module : of_modules) all.insert(all.end(), module.begin(), module.end());
  return all;
}

}  // namespace vramplan
