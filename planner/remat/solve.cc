#include "planner/remat/solve.h"

#include <algorithm>
#include <cmath>

#include "graph/base/check.h"
#include "planner/remat/clock.h"
#include "planner/remat/cut_bound.h"
#include "planner/remat/search.h"

namespace vramplan {
namespace {

using RecomputationSet = std::vector<Recomputation>;

// Moments at which the order as it is holds too much: the highest one, and others spread between the first and the
// last.
std::vector<int32_t> Moments(const std::vector<double>& levels, double budget, int32_t count) {
  int32_t first = -1, last = -1, highest = 0;
  for (int32_t at = 0; at < static_cast<int32_t>(levels.size()); ++at) {
    if (levels[static_cast<size_t>(at)] <= budget) continue;
    if (first < 0) first = at;
    last = at;
    if (levels[static_cast<size_t>(at)] > levels[static_cast<size_t>(highest)]) highest = at;
  }
  if (first < 0) return {};
  std::vector<int32_t> moments = {highest};
  for (int32_t k = 0; k < count; ++k) {
    moments.push_back(first + static_cast<int32_t>(static_cast<int64_t>(last - first) * k / std::max(1, count - 1)));
  }
  std::ranges::sort(moments);
  const auto repeated = std::ranges::unique(moments);
  moments.erase(repeated.begin(), repeated.end());
  return moments;
}

double MeanCost(const RematProblem& problem) {
  double sum = 0, count = 0;
  for (int32_t node = 0; node < problem.size(); ++node) {
    sum += static_cast<double>(problem[node].cost);
    count += problem[node].cost > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 1;
}

// One budget.
class Attempt {
 public:
  Attempt(const RematProblem& problem, int64_t budget, uint64_t seed, WorkClock* clock)
      : problem_(problem),
        budget_(static_cast<double>(budget)),
        clock_(*clock),
        mean_cost_(MeanCost(problem)),
        search_(problem, budget_, seed) {}

  // What must be computed again at least; 0 when nothing must.
  double Bound() {
    Recomputations& none = search_.state();
    if (none.overflow() <= 0) return 0;
    std::vector<double> levels;
    for (int32_t at = 0; at < problem_.size(); ++at) levels.push_back(none.level(at));
    for (const int32_t moment : Moments(levels, budget_, kMoments)) {
      CutBound cut(problem_, budget_, {moment});
      double price = 0;
      bound_ = std::max(bound_, cut.BestPrice(&price));
      clock_.Add(static_cast<int64_t>(static_cast<double>(cut.steps()) * kCutStep));
    }
    return bound_;
  }

  // Looks until this part of the time is gone, from this set on. Nothing: found no set within the budget.
  std::optional<RecomputationSet> Look(double until, const RecomputationSet& from) {
    const double overflow = search_.state().overflow();
    search_.SetPrice(std::max(bound_, mean_cost_) / std::max(overflow, 1.0) * kFirstPrice);
    search_.Restart(from);
    search_.Consider();
    const double begin = clock_.Gone();
    int64_t counted = search_.steps();
    search_.Anneal({mean_cost_ * kHot, mean_cost_ * kCold, [&](int64_t steps) {
                      clock_.Add(steps - counted);
                      counted = steps;
                      return begin < until ? (clock_.Gone() - begin) / (until - begin) : 1;
                    }});
    if (!search_.found()) return std::nullopt;
    return search_.best();
  }

 private:
  static constexpr int32_t kMoments = 12;
  static constexpr double kCutStep = 0.2;  // of a step of the search, in time
  static constexpr double kFirstPrice = 3, kHot = 1, kCold = 1e-3;

  const RematProblem& problem_;
  double budget_;
  WorkClock& clock_;
  double mean_cost_, bound_ = 0;
  Search search_;
};

RematSchedule ScheduleOf(const RematProblem& problem, const RecomputationSet& set) {
  Recomputations made(problem, 0);
  made.SetTo(set);
  return made.Schedule();
}

// The least budget for which a set is found, by halves, and the set.
RecomputationSet LeastPeak(const RematProblem& problem, uint64_t seed, WorkClock* clock, RematAnswer* answer) {
  constexpr int kProbes = 12;
  constexpr double kShare = 0.5;  // of the time
  RecomputationSet best;
  int64_t below = answer->working_set - 1;
  answer->budget = answer->keep_all;
  for (int probe = 0; probe < kProbes && answer->budget - below > 1; ++probe) {
    const int64_t budget = probe == 0 ? answer->working_set : below + (answer->budget - below) / 2;
    Attempt attempt(problem, budget, seed, clock);
    attempt.Bound();
    const auto found = attempt.Look(kShare * (probe + 1) / kProbes, best);
    if (!found) {
      below = budget;
      continue;
    }
    best = *found;
    const Result<RematOutcome> outcome = Simulate(problem, ScheduleOf(problem, best));
    CHECK(outcome.ok() && outcome->peak <= budget);
    answer->budget = outcome->peak;
  }
  return best;
}

}  // namespace

double RematAnswer::gap() const {
  if (!outcome || outcome->cost == 0) return 0;
  return static_cast<double>(outcome->cost - bound) / static_cast<double>(outcome->cost);
}

RematAnswer Solve(const RematProblem& problem, const RematWishes& wishes) {
  RematAnswer answer;
  answer.working_set = WorkingSet(problem);
  answer.cost_once = answer.bound = problem.cost_once();
  const Result<RematOutcome> all = Simulate(problem, KeepAll(problem));
  CHECK(all.ok());
  answer.keep_all = all->peak;
  WorkClock clock(wishes.seconds, wishes.real_clock);
  RecomputationSet start;
  if (wishes.budget) {
    answer.budget = *wishes.budget;
  } else {
    start = LeastPeak(problem, wishes.seed, &clock, &answer);
  }
  if (answer.impossible()) return answer;
  if (answer.keep_all <= answer.budget) {
    answer.schedule = KeepAll(problem);
    answer.outcome = *all;
    return answer;
  }
  Attempt attempt(problem, answer.budget, wishes.seed, &clock);
  // Costs are whole numbers; what doubles lose is less than this.
  answer.bound += static_cast<int64_t>(std::ceil(attempt.Bound() * (1 - 1e-9) - 1e-6));
  const std::optional<RecomputationSet> found = attempt.Look(1, start);
  if (!found) return answer;
  answer.schedule = ScheduleOf(problem, *found);
  const Result<RematOutcome> outcome = Simulate(problem, answer.schedule);
  CHECK(outcome.ok() && outcome->peak <= answer.budget && outcome->cost >= answer.bound);
  answer.outcome = *outcome;
  return answer;
}

}  // namespace vramplan
