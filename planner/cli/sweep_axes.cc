#include "planner/cli/sweep_axes.h"

#include <algorithm>
#include <sstream>

#include "planner/cli/typed_values.h"
#include "planner/spec/nearest.h"

namespace vramplan {
namespace {

constexpr int64_t kMostLength = int64_t{1} << 40;

Error WrongAxis(const std::string& text) {
  return Wrong("--over", InQuotes(text) + " is not a name and its values",
               "type --over batch=1:256:x2, --over sequence=128:1024:+128 or --over precision=fp32,bf16");
}

std::vector<std::string> Split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, by);) parts.push_back(word);
  return parts;
}

// "1:256:x2", "16:128:+16", "1:8".
Result<std::vector<std::string>> ReadValues(const std::string& text, const std::string& whole) {
  std::vector<std::string> parts = Split(text, ':');
  if (parts.size() < 2) {
    parts = Split(text, ',');
    const bool empty = std::ranges::any_of(parts, [](const std::string& part) { return part.empty(); });
    if (parts.empty() || empty) return WrongAxis(whole);
    return parts;
  }
  if (parts.size() == 2) parts.emplace_back("+1");
  const char how = parts[2].empty() ? ' ' : parts[2][0];
  const std::optional<int64_t> low = ReadInteger(parts[0]), high = ReadInteger(parts[1]),
                               by = ReadInteger(parts[2].empty() ? "" : parts[2].substr(1));
  const bool good = parts.size() == 3 && low && high && by && *low >= 1 && *high <= kMostLength &&
                    ((how == 'x' && *by >= 2) || (how == '+' && *by >= 1));
  if (!good) return WrongAxis(whole);
  if (*low > *high)
    return Wrong("--over", "the range of " + InQuotes(whole) + " is empty", "type the lower number first");
  std::vector<std::string> values;
  for (int64_t value = *low; value <= *high && values.size() <= kMostAnswers; how == 'x' ? value *= * by : value += *by)
    values.push_back(std::to_string(value));
  return values;
}

}  // namespace

Result<std::vector<SweepAxis>> ReadSweepAxes(const std::vector<std::string>& typed) {
  std::vector<SweepAxis> axes;
  size_t answers = 1;
  for (const std::string& text : typed) {
    // Names of dims may hold an equals sign, values do not.
    const size_t equals = text.rfind('=');
    if (equals == std::string::npos || equals == 0) return WrongAxis(text);
    SweepAxis axis;
    axis.name = text.substr(0, equals);
    if (axis.name.starts_with("--")) axis.name.erase(0, 2);
    Result<std::vector<std::string>> values = ReadValues(text.substr(equals + 1), text);
    if (!values.ok()) return values.error();
    axis.values = *std::move(values);
    const auto same = [&](const SweepAxis& other) { return other.name == axis.name; };
    if (std::ranges::any_of(axes, same))
      return Wrong("--over", InQuotes(axis.name) + " is given twice", "give it once, with all of its values");
    answers *= axis.values.size();
    if (answers > kMostAnswers) {
      return Wrong("--over", "these are more than " + std::to_string(kMostAnswers) + " combinations",
                   "take larger steps, such as x2");
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

}  // namespace vramplan
