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
  if (assumptions.empty()) return {};
  ByPhase together = PhasesOf(assumptions.front());
  together.low = together.high = together.likely;
  for (const Assumption& each : assumptions) {
    if (each.said_elsewhere) continue;
    const ByPhase moved = PhasesOf(each);
    CHECK(moved.likely.size() == together.likely.size());
    for (size_t p = 0; p < moved.likely.size(); ++p) {
      together.low[p] -= moved.likely[p] - moved.low[p];
      together.high[p] += moved.high[p] - moved.likely[p];
    }
  }
  return {std::max(Bytes(), std::ranges::max(together.low)), std::ranges::max(together.high)};
}

std::string PrintAssumptions(const std::vector<Assumption>& assumptions, const Style& style) {
  std::vector<Assumption> told;
  std::copy_if(assumptions.begin(), assumptions.end(), std::back_inserter(told),
               [&](const Assumption& each) { return each.Matters() && (style.verbose || !each.said_elsewhere); });
  std::stable_sort(told.begin(), told.end(), [](const Assumption& a, const Assumption& b) {
    return a.high - a.low > b.high - b.low;  // all at the same batch
  });
  constexpr size_t kOnAScreen = 3;
  const size_t printed = style.verbose ? told.size() : std::min(told.size(), kOnAScreen);
  std::string text;
  for (size_t i = 0; i < printed; ++i) {
    const Assumption& each = told[i];
    text += Indented(each.text + " (otherwise the peak is " + MovesText(each) + "; " + each.settle + ")", style);
  }
  if (told.size() > 1) {
    const auto [least, most] = Together(told);
    text +=
        Indented("together they put the requested peak between " + ToString(least) + " and " + ToString(most), style);
  }
  if (const size_t more = told.size() - printed; more > 0)
    text += Indented(
        "--verbose prints " + std::to_string(more) + " more that " + (more == 1 ? "moves" : "move") + " it", style);
  return text;
}

Json TogetherJson(const std::vector<Assumption>& assumptions) {
  const auto [least, most] = Together(assumptions);
  Json ends = Json::Object();
  ends.Set("low", least).Set("high", most);
  Json together = Json::Object();
  together.Set("requested", std::move(ends));
  return together;
}

Json ToJson(const std::vector<Assumption>& assumptions) {
  Json rows = Json::Array();
  for (const Assumption& each : assumptions) {
    Json ends = Json::Object();
    ends.Set("low", each.low).Set("likely", each.likely).Set("high", each.high);
    Json row = Json::Object();
    row.Set("code", each.code)
        .Set("text", each.text)
        .Set("settle", each.settle)
        .Set("batch", each.batch)
        .Set("requested", std::move(ends))
        .Set("matters", each.Matters());
    rows.Push(std::move(row));
  }
  return rows;
}

}  // namespace vramplan
