#include "planner/cli/script_wishes.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "planner/cli/typed_values.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

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

Result<ScriptWishes::Range> ReadRange(const std::string& text) {
  const size_t equals = text.find('='), colon = text.find(':', equals);
  if (equals == std::string::npos || colon == std::string::npos) return WrongRange(text);
  const std::optional<int64_t> low = ReadInteger(text.substr(equals + 1, colon - equals - 1));
  const std::optional<int64_t> high = ReadInteger(text.substr(colon + 1));
  const std::string name = text.substr(0, equals);
  if (!IsName(name) || !low || !high || *low < 1 || *high > kMostValue) return WrongRange(text);
  if (*low > *high) return Wrong("--largest", "the range of \"" + text + "\" is empty", "type the lower number first");
  return ScriptWishes::Range{name, *low, *high};
}

Result<ScriptWishes::Choices> ReadChoices(const std::string& text) {
  const size_t equals = text.find('=');
  ScriptWishes::Choices choices;
  choices.name = text.substr(0, equals);
  std::istringstream values(equals == std::string::npos ? "" : text.substr(equals + 1));
  for (std::string value; std::getline(values, value, ',');) choices.values.push_back(value);
  if (!IsName(choices.name) || choices.values.empty()) {
    return Wrong("--vary", "\"" + text + "\" is not a name and its values",
                 "type --vary seq=512,1024 and write {seq} in the command");
  }
  return choices;
}

}  // namespace

Result<ScriptWishes> ReadScriptWishes(const std::string* largest, const std::string* largest_in,
                                      const std::vector<std::string>& vary) {
  ScriptWishes wishes;
  std::set<std::string> names;
  if (largest != nullptr) {
    Result<ScriptWishes::Range> range = ReadRange(*largest);
    if (!range.ok()) return range.error();
    names.insert(range->name);
    wishes.largest = *std::move(range);
  }
  if (largest_in != nullptr) {
    const size_t colon = largest_in->rfind(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == largest_in->size()) {
      return Wrong("--largest-in", "\"" + *largest_in + "\" is not a file and a key",
                   "type --largest-in config.yaml:data.batch_size");
    }
    if (!wishes.largest) return Wrong("--largest-in", "goes with --largest", "type --largest batch=1:512 beside it");
    wishes.largest_in = ScriptWishes::Key{largest_in->substr(0, colon), largest_in->substr(colon + 1)};
  }
  size_t runs = 1;
  for (const std::string& text : vary) {
    Result<ScriptWishes::Choices> choices = ReadChoices(text);
    if (!choices.ok()) return choices.error();
    if (!names.insert(choices->name).second)
      return Wrong("--vary", "\"" + choices->name + "\" is named twice", "give every value in one list: NAME=A,B,C");
    runs *= choices->values.size();
    wishes.vary.push_back(*std::move(choices));
  }
  if (runs > kMostVaried) {
    return Wrong("--vary", "asks for " + std::to_string(runs) + " runs", "give at most " + std::to_string(kMostVaried));
  }
  return wishes;
}

}  // namespace vramplan
