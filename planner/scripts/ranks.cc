#include "planner/scripts/ranks.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace vramplan {

std::string LauncherIn(const std::vector<std::string>& command) {
  // Of PyTorch, accelerate and DeepSpeed; as programs and as modules behind python -m.
  constexpr std::array<std::string_view, 7> kLaunchers = {
      "torchrun",  "torch.distributed.run",      "torch.distributed.launch",  "accelerate",
      "deepspeed", "accelerate.commands.launch", "deepspeed.launcher.runner",
  };
  for (const std::string& word : command) {
    const std::string_view name = std::string_view{word}.substr(word.rfind('/') + 1);
    if (std::ranges::find(kLaunchers, name) != kLaunchers.end()) return std::string(name);
    if (name.ends_with(".py")) break;  // what follows is for the script
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> RankVariables(const ScriptRanks& ranks, int64_t gpus,
                                                               const std::string& launcher) {
  const int64_t per_node = gpus / ranks.nodes, rank = ranks.rank;
  std::vector<std::pair<std::string, std::string>> variables;
  if (ranks.one_process) return variables;
  if (!ranks.all) variables.emplace_back("VRAMPLAN_ALONE", std::to_string(rank));
  if (!launcher.empty()) return variables;
  // What torchrun sets (torch/distributed/elastic/agent/server/local_elastic_agent.py).
  for (const auto& [name, value] :
       {std::pair("RANK", rank), std::pair("WORLD_SIZE", gpus), std::pair("LOCAL_RANK", rank % per_node),
        std::pair("LOCAL_WORLD_SIZE", per_node), std::pair("GROUP_RANK", rank / per_node),
        std::pair("GROUP_WORLD_SIZE", ranks.nodes)}) {
    variables.emplace_back(name, std::to_string(value));
  }
  variables.emplace_back("MASTER_ADDR", "127.0.0.1");
  variables.emplace_back("MASTER_PORT", "29500");
  return variables;
}

}  // namespace vramplan
