#include "planner/remat/temporal_knapsack.h"

#include <algorithm>
#include <cmath>

#include "planner/remat/price_ascent.h"

namespace vramplan {
namespace {

struct Gap {
  double cost = 0, bytes = 0;
  size_t first = 0, end = 0;  // moments in it: first .. end - 1
};

class Knapsack {
 public:
  Knapsack(const RematProblem& problem, double budget, const std::vector<double>& levels) : problem_(problem) {
    ChooseMoments(budget, levels);
    FindGaps();
  }

  double Best(double known, double until, WorkClock* clock) {
    constexpr int kPatience = 5, kRounds = 400;
    PriceAscent ascent(std::vector<double>(moments_.size(), 0), kPatience);
    for (int round = 0; round < kRounds && ascent.pace() > 1e-3 && clock->Gone() < until; ++round) {
      const double found = At(ascent.prices());
      clock->Add(steps_);
      if (!ascent.Note(found, 1e-7)) At(ascent.prices());
      if (!ascent.Move(std::max(known, ascent.best() * 1.05), found, missing_)) break;
    }
    return ascent.best();
  }

 private:
  // The highest of each part of the step, where it is too high.
  void ChooseMoments(double budget, const std::vector<double>& levels) {
    constexpr size_t kMost = 96;
    std::vector<size_t> over;
    for (size_t at = 0; at < levels.size(); ++at) {
      if (levels[at] > budget) over.push_back(at);
    }
    const size_t parts = std::min(kMost, over.size());
    for (size_t part = 0; part < parts; ++part) {
      const auto begin = over.begin() + static_cast<std::ptrdiff_t>(over.size() * part / parts);
      const auto end = over.begin() + static_cast<std::ptrdiff_t>(over.size() * (part + 1) / parts);
      const size_t highest = *std::max_element(begin, end, [&](size_t a, size_t b) { return levels[a] < levels[b]; });
      moments_.push_back(static_cast<int32_t>(highest));
      excess_.push_back(levels[highest] - budget);
    }
    missing_.resize(moments_.size());
  }

  void FindGaps() {
    for (int32_t value = 0; value < problem_.size(); ++value) {
      int32_t from = value;
      for (const int32_t use : problem_.Users(value)) {
        const auto first = std::ranges::upper_bound(moments_, from);
        const auto end = std::ranges::lower_bound(moments_, use);
        from = use;
        if (first >= end || problem_[value].bytes == 0) continue;
        gaps_.push_back({static_cast<double>(problem_[value].cost), static_cast<double>(problem_[value].bytes),
                         static_cast<size_t>(first - moments_.begin()), static_cast<size_t>(end - moments_.begin())});
      }
    }
  }

  // The bound at these prices, and what the gaps that are open then leave too much, by moment.
  double At(const std::vector<double>& prices) {
    double bound = 0;
    for (size_t m = 0; m < prices.size(); ++m) bound += prices[m] * excess_[m];
    missing_ = excess_;
    steps_ = static_cast<int64_t>(prices.size() + gaps_.size());
    for (const Gap& gap : gaps_) {
      double worth = 0;
      for (size_t m = gap.first; m < gap.end; ++m) worth += prices[m] * std::min(gap.bytes, excess_[m]);
      steps_ += static_cast<int64_t>(gap.end - gap.first) / 4;
      if (worth <= gap.cost) continue;
      bound += gap.cost - worth;
      for (size_t m = gap.first; m < gap.end; ++m) missing_[m] -= std::min(gap.bytes, excess_[m]);
    }
    return bound;
  }

  const RematProblem& problem_;
  std::vector<int32_t> moments_;  // ascending
  std::vector<double> excess_;    // bytes beyond the budget when everything is kept, by moment
  std::vector<double> missing_;   // of which the open gaps do not let go
  std::vector<Gap> gaps_;
  int64_t steps_ = 0;  // of the latest At
};

}  // namespace

double TemporalKnapsackBound(const RematProblem& problem, double budget, const std::vector<double>& levels,
                             double known, double until, WorkClock* clock) {
  return Knapsack(problem, budget, levels).Best(known, until, clock);
}

}  // namespace vramplan
