#include "planner/cli/script_ranks.h"

#include <algorithm>
#include <array>
#include <sstream>
#include <string_view>

#include "planner/cli/typed_values.h"

namespace vramplan {
namespace {

constexpr int64_t kMostRanks = 65536;
constexpr size_t kMostWorlds = 64;

Result<int64_t> ReadCount(const char* option, const std::string& text, int64_t lowest, const char* example) {
  const std::optional<int64_t> count = ReadInteger(text);
  if (count && *count >= lowest && *count <= kMostRanks) return *count;
  return Wrong(option,
               "\"" + text + "\" is not a number from " + std::to_string(lowest) + " to " + std::to_string(kMostRanks),
               std::string("type ") + option + " " + example);
}

}  // namespace

Result<ScriptRanks> ReadRanks(const Typed& typed) {
  const std::string *gpus = typed.Other("--gpus"), *nodes = typed.Other("--nodes"), *rank = typed.Other("--rank");
  const bool all = typed.Other("--all-ranks") != nullptr, one_process = typed.Other("--one-process") != nullptr;
  if (gpus == nullptr) return Wrong(typed.flag, "goes with --gpus", "add the number of cards: --gpus 8");
  ScriptRanks ranks;
  ranks.all = all;
  ranks.one_process = one_process;
  if (one_process && (nodes != nullptr || rank != nullptr || all))
    return Wrong("--one-process", "has no ranks, and --nodes, --rank and --all-ranks are about them",
                 "leave them out, or --one-process");
  std::istringstream words(*gpus);
  for (std::string word; std::getline(words, word, ',');) {
    const Result<int64_t> count = ReadCount("--gpus", word, 1, "8, or a list: 1,2,4,8");
    if (!count.ok()) return count.error();
    ranks.gpus.push_back(*count);
  }
  if (ranks.gpus.empty() || ranks.gpus.size() > kMostWorlds)
    return Wrong("--gpus", "\"" + *gpus + "\" is not a list of up to 64 numbers", "type --gpus 8, or a list: 1,2,4,8");
  if (nodes != nullptr) {
    const Result<int64_t> count = ReadCount("--nodes", *nodes, 1, "2");
    if (!count.ok()) return count.error();
    ranks.nodes = *count;
    for (const int64_t each : ranks.gpus) {
      if (each % ranks.nodes == 0) continue;
      return Wrong(
          "--nodes",
          std::to_string(each) + " cards cannot be shared evenly by " + std::to_string(ranks.nodes) + " machines",
          "--gpus is the number of all cards together");
    }
  }
  if (rank != nullptr) {
    const Result<int64_t> number = ReadCount("--rank", *rank, 0, "1");
    if (!number.ok()) return number.error();
    ranks.rank = *number;
    const int64_t fewest = *std::ranges::min_element(ranks.gpus);
    if (ranks.rank >= fewest) {
      return Wrong("--rank", "there is no rank " + std::to_string(ranks.rank) + " of " + std::to_string(fewest),
                   "ranks are counted from 0");
    }
    if (all) return Wrong("--rank", "does not go with --all-ranks", "leave one of them out");
  }
  return ranks;
}

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
