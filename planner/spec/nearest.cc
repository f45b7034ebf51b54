#include "planner/spec/nearest.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "graph/base/text.h"

namespace vramplan {
int EditDistance(std::string_view a, std::string_view b) {
  // Optimal string alignment: three rows are enough, since a swap looks two rows back.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    std::swap(before, last);
    std::swap(last, now);
  }
  return last[b.size()];
}

namespace {

// "llama-3.1-8b" as "llama318b": where separators stand is what people remember least.
std::string WithoutSeparators(std::string text) {
  std::erase_if(text, [](char c) { return c == '-' || c == '_' || c == '.' || c == ' '; });
  return text;
}

}  // namespace

std::vector<std::string> Nearest(std::string_view word, const std::vector<std::string>& names) {
  const std::string lower = LowerCase(word), letters = WithoutSeparators(lower);
  std::vector<std::pair<int, size_t>> near;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string name = LowerCase(names[i]);
    const int longest = static_cast<int>(std::max(lower.size(), name.size()));
    const int distance = EditDistance(lower, name);
    const bool continues = letters.size() >= 2 && WithoutSeparators(name).starts_with(letters);
    const bool shares = distance < longest;  // else every letter is near to every other
    if (continues || (shares && distance <= std::max(1, longest / 3))) near.emplace_back(continues ? 1 : distance, i);
  }
  std::sort(near.begin(), near.end());
  std::vector<std::string> nearest;
  for (const auto& [distance, i] : near) {
    if (nearest.size() < 3) nearest.push_back(names[i]);
  }
  return nearest;
}

std::string SuggestNearest(std::string_view word, const std::vector<std::string>& names) {
  const std::vector<std::string> nearest = Nearest(word, names);
  return nearest.empty() ? "" : "did you mean " + JoinChoices(nearest) + "?";
}

std::string InQuotes(std::string_view text) {
  std::string quoted(1, '"');
  quoted.append(text);
  quoted.push_back('"');
  return quoted;
}

std::string JoinChoices(const std::vector<std::string>& names) {
  std::string joined;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) joined += i + 1 == names.size() ? " or " : ", ";
    joined += names[i];
  }
  return joined;
}

}  // namespace vramplan
