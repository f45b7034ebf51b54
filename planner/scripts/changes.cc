#include "planner/scripts/changes.h"

#include <cstdlib>

namespace vramplan {

std::vector<std::pair<std::string, std::string>> VariablesOf(const ScriptChange& change) {
  if (change.hook != nullptr) return {{"VRAMPLAN_TRY", change.hook}};
  // Both names of it: the second one since PyTorch 2.9. What the user has set stays.
  std::vector<std::pair<std::string, std::string>> variables;
  for (const char* name : {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}) {
    const char* const own = std::getenv(name);
    std::string value = own == nullptr || *own == '\0' ? "" : std::string(own) + ",";
    if (value.empty() && std::string(name) == "PYTORCH_ALLOC_CONF") continue;
    variables.emplace_back(name, value + "expandable_segments:True");
  }
  return variables;
}

}  // namespace vramplan
