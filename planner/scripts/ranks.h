// Script ranks: a command as one rank of many (--gpus), and what its environment says of the others.
//
//   --gpus 8                       rank 0 of 8 on one machine: RANK=0 WORLD_SIZE=8 LOCAL_WORLD_SIZE=8
//   --gpus 1,2,4 --rank 1          a table; of rank 1 where there is one
//   --gpus 16 --nodes 2            two machines with 8 cards each
//   --gpus 2 --one-process         one process with two cards: nn.DataParallel, device_map
//   --gpus 2 --all-ranks -- torchrun --nproc-per-node {gpus} ...      both ranks run
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace vramplan {

struct ScriptRanks {
  std::vector<int64_t> gpus;  // of one run each; more than one: a table
  int64_t nodes = 1, rank = 0;
  bool all = false;
  bool one_process = false;  // that uses all cards: no ranks
  bool operator==(const ScriptRanks&) const = default;
};

// The placeholder for the number of cards.
inline constexpr const char* kGpusName = "gpus";

// The program of the command that starts a process for each rank by itself ("torchrun"); empty: none.
std::string LauncherIn(const std::vector<std::string>& command);

// Variables for one of `gpus` ranks. Under a launcher those that it sets are left to it.
std::vector<std::pair<std::string, std::string>> RankVariables(const ScriptRanks& ranks, int64_t gpus,
                                                               const std::string& launcher);

}  // namespace vramplan
