// Script: a command that is run on a pretend card, and what of it is changed from run to run (ScriptWishes).
//
//   --largest batch=1:512                    {batch} in the command, or the variable `batch`
//   --largest batch=1:512 --largest-in c.yaml:data.batch_size
//   --vary seq=512,1024 --vary ckpt=0,1      four runs
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/scripts/ranks.h"

namespace vramplan {

struct ScriptWishes {
  struct Range {
    std::string name;
    int64_t low = 1, high = 1;
    bool operator==(const Range&) const = default;
  };
  struct Key {
    std::string file, key;
    bool operator==(const Key&) const = default;
  };
  struct Choices {
    std::string name;
    std::vector<std::string> values;
    bool operator==(const Choices&) const = default;
  };
  std::optional<Range> largest;
  std::optional<Key> largest_in;
  bool write_back = false;  // --write-back: the largest number into that file
  std::vector<Choices> vary;
  std::optional<ScriptRanks> ranks;
  bool tries = false;  // --try: once more with each change
  bool real = false;   // --real: once more on this machine's card
  bool values_on_host = false;
  // Several runs, told as a table.
  bool IsTable() const { return !vary.empty() || (ranks && ranks->gpus.size() > 1); }
};

struct Script {
  std::vector<std::string> command;
  int steps = 3;            // optimizer steps, or
  bool until_exit = false;  // until it ends by itself
  std::optional<double> most_seconds;
  ScriptWishes wishes;
};

}  // namespace vramplan
