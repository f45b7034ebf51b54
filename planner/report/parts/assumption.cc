#include "planner/report/parts/assumption.h"

#include <algorithm>
#include <cmath>

#include "graph/base/check.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

// How much more than the likely peak, in percent; negative: less.
double Share(Bytes end, Bytes likely) {
  if (likely <= Bytes()) return 0;
  return 100 * (static_cast<double>(end.count()) / static_cast<double>(likely.count()) - 1);
}

std::string MoveText(double share) {
  const double size = std::fabs(share);
  return Formatted(size < 10 ? "%.1f %%" : "%.0f %%", size);
}

// Of an assumption that tells the peak alone, that.
ByPhase PhasesOf(const Assumption& assumption) {
  if (!assumption.phases.likely.empty()) return assumption.phases;
  return {{assumption.low}, {assumption.likely}, {assumption.high}};
}

// What the peak is between when any of these turn out otherwise; at least one.
std::pair<Bytes, Bytes> TogetherOf(const std::vector<Assumption>& assumptions) {
  ByPhase together = PhasesOf(assumptions.front());
  together.low = together.high = together.likely;
  for (const Assumption& each : assumptions) {
    const ByPhase moved = PhasesOf(each);
    CHECK(moved.likely.size() == together.likely.size());
    for (size_t p = 0; p < moved.likely.size(); ++p) {
      together.low[p] -= moved.likely[p] - moved.low[p];
      together.high[p] += moved.high[p] - moved.likely[p];
    }
  }
  return {std::max(Bytes(), std::ranges::max(together.low)), std::ranges::max(together.high)};
}

constexpr size_t kOnAScreen = 3;

// Those that people are told above the table or below it, the one that moves the peak most first: all are at one batch.
std::vector<Assumption> Told(const std::vector<Assumption>& assumptions, bool lowering, const Style& style) {
  std::vector<Assumption> told;
  std::ranges::copy_if(assumptions, std::back_inserter(told), [&](const Assumption& each) {
    return each.Matters() && each.OnlyLowers() == lowering && (style.verbose || !each.said_elsewhere);
  });
  std::ranges::stable_sort(told, std::ranges::greater(), [](const Assumption& each) { return each.high - each.low; });
  return told;
}

std::string MoreText(size_t more, const std::string& one, const std::string& many, const Style& style) {
  if (more == 0) return "";
  return Indented("--verbose prints " + std::to_string(more) + " more that " + (more == 1 ? one : many), style);
}

// "assumed: the head is trained" without what a heading says already.
std::string WithoutLead(const std::string& text) {
  constexpr std::string_view kLead = "assumed: ";
  return text.starts_with(kLead) ? text.substr(kLead.size()) : text;
}

}  // namespace

bool Assumption::Matters() const {
  return 100 * static_cast<double>((high - low).count()) > told_above * static_cast<double>(likely.count());
}

std::string MovesText(const Assumption& assumption) {
  const double less = Share(assumption.low, assumption.likely), more = Share(assumption.high, assumption.likely);
  if (less < 0 && more > 0) return "from " + MoveText(less) + " lower to " + MoveText(more) + " higher";
  if (more > 0) return "up to " + MoveText(more) + " higher";
  return "up to " + MoveText(less) + " lower";
}

std::pair<Bytes, Bytes> Together(const std::vector<Assumption>& assumptions) {
  std::vector<Assumption> counted;
  std::ranges::copy_if(assumptions, std::back_inserter(counted),
                       [](const Assumption& each) { return !each.said_elsewhere; });
  if (!counted.empty()) return TogetherOf(counted);
  return assumptions.empty() ? std::pair<Bytes, Bytes>()
                             : std::pair(assumptions.front().likely, assumptions.front().likely);
}
std::string PrintAssumptions(const std::vector<Assumption>& assumptions, const Style& style, bool safe) {
  const std::vector<Assumption> told = Told(assumptions, false, style);
  const size_t printed = style.verbose ? told.size() : std::min(told.size(), kOnAScreen);
  std::string text;
  for (size_t i = 0; i < printed; ++i) {
    const Assumption& each = told[i];
    text += Indented(each.text + " (otherwise the peak is " + MovesText(each) + "; " + each.settle + ")", style);
  }
  const std::string only = safe && !told.empty() ? "safe batches assume this" : "";
  if (told.size() > 1) {
    const auto [least, most] = TogetherOf(told);
    text += Indented("together they put the requested peak between " + ToString(least) + " and " + ToString(most) +
                         (only.empty() ? "" : "; " + only),
                     style);
  } else if (!only.empty()) {
    text += Indented(only, style);
  }
  return text + MoreText(told.size() - printed, "moves it", "move it", style);
}

std::string PrintSuggestions(const std::vector<Assumption>& assumptions, const Style& style) {
  const std::vector<Assumption> told = Told(assumptions, true, style);
  if (told.empty()) return "";
  const size_t printed = style.verbose ? told.size() : std::min(told.size(), kOnAScreen);
  std::string text;
  for (size_t i = 0; i < printed; ++i) {
    const Assumption& each = told[i];
    text += Indented("as little as " + ToString(each.low) + " instead of " + ToString(each.likely) +
                         " requested, if this is not so: " + WithoutLead(each.text) + " (" + each.settle + ")",
                     style);
  }
  return text + MoreText(told.size() - printed, "would lower it", "would lower it", style);
}

}  // namespace vramplan
