#include "planner/cli/typed_script.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "planner/cli/typed_values.h"
#include "planner/report/writing/numbers.h"

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

constexpr int64_t kMostValue = int64_t{1} << 40;
constexpr size_t kMostVaried = 64;

// As a placeholder in braces and as a variable of the environment.
bool IsName(const std::string& text) {
  if (text.empty() || (text[0] >= '0' && text[0] <= '9')) return false;
  if (text == kGpusName) return false;  // of --gpus
  return std::ranges::all_of(text, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

Error WrongRange(const std::string& text) {
  return Wrong("--largest", "\"" + text + "\" is not a name and a range of whole numbers",
               "type --largest batch=1:512 and write {batch} in the command");
}

}  // namespace

Result<ScriptWishes::Range> ReadRange(const Typed& typed) {
  const std::string& text = typed.text();
  const size_t equals = text.find('='), colon = text.find(':', equals);
  if (equals == std::string::npos || colon == std::string::npos) return WrongRange(text);
  const std::optional<int64_t> low = ReadInteger(text.substr(equals + 1, colon - equals - 1));
  const std::optional<int64_t> high = ReadInteger(text.substr(colon + 1));
  const std::string name = text.substr(0, equals);
  if (!IsName(name) || !low || !high || *low < 1 || *high > kMostValue) return WrongRange(text);
  if (*low > *high) return Wrong("--largest", "the range of \"" + text + "\" is empty", "type the lower number first");
  return ScriptWishes::Range{name, *low, *high};
}

Result<ScriptWishes::Key> ReadKey(const Typed& typed) {
  const std::string& text = typed.text();
  const size_t colon = text.rfind(':');
  if (colon != std::string::npos && colon != 0 && colon + 1 != text.size())
    return ScriptWishes::Key{text.substr(0, colon), text.substr(colon + 1)};
  return Wrong(typed.flag, "\"" + text + "\" is not a file and a key", "type --largest-in config.yaml:data.batch_size");
}

Result<std::vector<ScriptWishes::Choices>> ReadChoices(const Typed& typed) {
  std::vector<ScriptWishes::Choices> all;
  for (const std::string& text : typed.values) {
    const size_t equals = text.find('=');
    ScriptWishes::Choices& choices = all.emplace_back();
    choices.name = text.substr(0, equals);
    std::istringstream values(equals == std::string::npos ? "" : text.substr(equals + 1));
    for (std::string value; std::getline(values, value, ',');) choices.values.push_back(value);
    if (IsName(choices.name) && !choices.values.empty()) continue;
    return Wrong(typed.flag, "\"" + text + "\" is not a name and its values",
                 "type --vary seq=512,1024 and write {seq} in the command");
  }
  return all;
}

Status CheckWishes(const ScriptWishes& wishes) {
  if (wishes.largest_in && !wishes.largest)
    return Wrong("--largest-in", "goes with --largest", "type --largest batch=1:512 beside it");
  std::set<std::string> names;
  if (wishes.largest) names.insert(wishes.largest->name);
  size_t runs = 1;
  for (const ScriptWishes::Choices& choices : wishes.vary) {
    if (!names.insert(choices.name).second)
      return Wrong("--vary", "\"" + choices.name + "\" is named twice", "give every value in one list: NAME=A,B,C");
    runs *= choices.values.size();
  }
  if (runs > kMostVaried)
    return Wrong("--vary", "asks for " + std::to_string(runs) + " runs", "give at most " + std::to_string(kMostVaried));
  return Done();
}

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

}  // namespace vramplan
