#include <algorithm>
#include <map>

#include "planner/timeline/run.h"

namespace vramplan {

std::vector<eager::Tensor> ModelRun::Embeddings() const {
  std::vector<eager::Tensor> tables;
  for (const Layer& layer : layers_.layers) {
    if (layer.op != "embedding") continue;
    for (ValueId id : layer.inputs) {
      if (id.valid() && layers_[id].role == Role::kParameter)
        tables.push_back(resident_[static_cast<size_t>(id.value)]);
    }
  }
  return tables;
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
