#include "planner/remat/lower_bound.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "planner/remat/cut_bound.h"
#include "planner/remat/price_ascent.h"

namespace vramplan {
namespace {

constexpr double kCutStep = 0.2;  // of a step of the search, in time

int64_t CutSteps(const WorkClock& clock, double until) {
  return static_cast<int64_t>(static_cast<double>(clock.StepsUntil(until)) / kCutStep);
}

}  // namespace

LowerBound::LowerBound(const RematProblem& problem, double budget, std::vector<double> levels, WorkClock* clock)
    : problem_(problem), budget_(budget), levels_(std::move(levels)), clock_(*clock) {
  for (int32_t at = 1; at < problem_.size(); ++at) {
    if (levels_[static_cast<size_t>(at)] > levels_[static_cast<size_t>(moment_)]) moment_ = at;
  }
}

std::vector<int32_t> LowerBound::Candidates() const {
  constexpr int32_t kHighest = 3, kNarrowest = 5, kSpread = 9;
  std::vector<int32_t> over;
  for (int32_t at = 0; at < problem_.size(); ++at) {
    if (Excess(at) > 0) over.push_back(at);
  }
  const int32_t count = static_cast<int32_t>(over.size());
  std::vector<int32_t> chosen;
  for (int32_t k = 0; count > 0 && k < kSpread; ++k)
    chosen.push_back(over[static_cast<size_t>(static_cast<int64_t>(count - 1) * k / (kSpread - 1))]);
  const auto take = [&](int32_t most, auto score) {
    std::ranges::stable_sort(over, std::greater<>(), score);
    chosen.insert(chosen.end(), over.begin(), over.begin() + std::min(most, count));
  };
  take(kHighest, [&](int32_t at) { return Excess(at); });
  // The part of what could be let go that must be.
  take(kNarrowest, [&](int32_t at) {
    return Excess(at) / std::max(1.0, Excess(at) + budget_ - static_cast<double>(WorkingSet(problem_, at)));
  });
  return chosen;
}

void LowerBound::Try(int32_t moment, double until) {
  if (moment < 0 || moment >= problem_.size() || Excess(moment) <= 0 || tried_.count(moment) != 0) return;
  CutBound cut(problem_, budget_, {moment});
  cut.SetLimit(CutSteps(clock_, until));
  double price = 0;
  const double found = cut.BestPrice(&price);
  clock_.Add(static_cast<int64_t>(static_cast<double>(cut.steps()) * kCutStep));
  tried_[moment] = found;
  if (found <= single_) return;
  single_ = found;
  extra_ = std::max(extra_, found);
  moment_ = moment;
  price_ = price;
}

void LowerBound::Find(double until) {
  for (const int32_t moment : Candidates()) {
    if (!tried_.empty() && clock_.Gone() >= until) return;
    Try(moment, until);
  }
  for (int32_t step = std::max(1, problem_.size() / 32); step > 0 && clock_.Gone() < until; step /= 2) {
    const int32_t middle = moment_;
    Try(middle - step, until);
    Try(middle + step, until);
  }
}

// The best ones, not two from the same part of the step.
std::vector<int32_t> LowerBound::Together() const {
  constexpr size_t kMost = 8;
  std::vector<std::pair<double, int32_t>> best;
  for (const auto& [moment, bound] : tried_) best.emplace_back(bound, moment);
  std::ranges::sort(best, std::greater<>());
  std::vector<int32_t> chosen;
  for (const auto& tried : best) {
    const int32_t moment = tried.second;
    const bool near =
        std::ranges::any_of(chosen, [&](int32_t other) { return std::abs(other - moment) * 40 < problem_.size(); });
    if (!near && chosen.size() < kMost) chosen.push_back(moment);
  }
  std::ranges::sort(chosen);
  return chosen;
}

void LowerBound::Tighten(double known, double until) {
  constexpr int kPatience = 4;
  const std::vector<int32_t> moments = Together();
  if (moments.size() < 2 || known <= extra_) return;
  CutBound cut(problem_, budget_, moments);
  cut.SetLimit(CutSteps(clock_, until));
  std::vector<double> prices(moments.size(), 0);
  for (size_t m = 0; m < moments.size(); ++m) prices[m] = moments[m] == moment_ ? price_ : 0;
  PriceAscent ascent(std::move(prices), kPatience);
  int64_t counted = 0;
  while (clock_.Gone() < until && ascent.pace() > 1e-3) {
    const double found = cut.At(ascent.prices());
    clock_.Add(static_cast<int64_t>(static_cast<double>(cut.steps() - counted) * kCutStep));
    counted = cut.steps();
    if (!ascent.Note(found, 1e-9)) cut.At(ascent.prices());
    if (!cut.complete() || !ascent.Move(known, found, cut.excess())) break;
  }
  extra_ = std::max(extra_, ascent.best());
}

}  // namespace vramplan
