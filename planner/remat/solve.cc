#include "planner/remat/solve.h"

#include <algorithm>
#include <cmath>

#include "graph/base/check.h"
#include "planner/remat/clock.h"
#include "planner/remat/cut_bound.h"
#include "planner/remat/cut_start.h"
#include "planner/remat/lower_bound.h"
#include "planner/remat/search.h"
#include "planner/remat/temporal_knapsack.h"

namespace vramplan {
namespace {

using RecomputationSet = std::vector<Recomputation>;

// Costs are whole numbers; what doubles lose is less than this.
int64_t WholeCost(double bound) { return static_cast<int64_t>(std::ceil(bound * (1 - 1e-9) - 1e-6)); }

double MeanCost(const RematProblem& problem) {
  double sum = 0, count = 0;
  for (int32_t node = 0; node < problem.size(); ++node) {
    sum += static_cast<double>(problem[node].cost);
    count += problem[node].cost > 0 ? 1 : 0;
  }
  return count > 0 ? sum / count : 1;
}

std::vector<double> LevelsKeepingAll(const RematProblem& problem) {
  Recomputations none(problem, 0);
  none.overflow();
  std::vector<double> levels;
  for (int32_t at = 0; at < problem.size(); ++at) levels.push_back(none.level(at));
  return levels;
}

// What sums of doubles may lose: nothing while all bytes together are exact in one.
double Lost(const RematProblem& problem) {
  constexpr double kExact = 4503599627370496;  // 2^52
  double bytes = 0;
  for (int32_t node = 0; node < problem.size(); ++node) bytes += static_cast<double>(problem[node].bytes);
  return bytes < kExact ? 0 : bytes * 1e-9;
}

// One budget, below what keeping everything takes.
class Attempt {
 public:
  Attempt(const RematProblem& problem, int64_t budget, uint64_t seed, WorkClock* clock)
      : problem_(problem),
        budget_(static_cast<double>(budget)),
        lost_(Lost(problem)),
        clock_(*clock),
        mean_cost_(MeanCost(problem)),
        levels_(LevelsKeepingAll(problem)),
        bound_(problem, budget_ + lost_, levels_, clock),
        search_(problem, budget_ - lost_, seed),
        overflow_(search_.state().overflow()) {}

  LowerBound& bound() { return bound_; }
  double gap_extra() const { return gap_extra_; }
  double extra() const { return std::max(bound_.extra(), gap_extra_); }
  // By gaps; `known`: what a schedule computes again, or nothing.
  void BoundByGaps(double known, double until) {
    const double guess = std::max(known, 1.1 * extra() + mean_cost_);
    gap_extra_ = std::max(gap_extra_, TemporalKnapsackBound(problem_, budget_ + lost_, levels_, guess, until, &clock_));
  }
  bool found() const { return search_.found(); }
  const RecomputationSet& best() const { return search_.best(); }
  bool Proved() const { return found() && search_.best_cost() <= static_cast<double>(WholeCost(extra())); }

  // From a set that is known to be good.
  void Take(const RecomputationSet& set) {
    search_.Restart(set);
    search_.Consider();
  }
  // From cuts, near the end of the search's cooling: what they choose is mostly right. The cuts themselves may take
  // longer, where there are many nodes.
  void LookFromCuts(double until, double at_most) {
    Take(Cuts(at_most));
    search_.SetPrice(bound_.price() > 0 ? bound_.price() : FirstPrice());
    Anneal(kWarm, until);
  }
  // From nothing.
  void LookFromNothing(double until) {
    search_.Restart({});
    search_.SetPrice(FirstPrice());
    Anneal(kHot, until);
  }

 private:
  // Of mean costs of a node.
  static constexpr double kHot = 1, kWarm = 0.03, kCold = 1e-3;

  // Of a byte too much in one stage: the bound's cost is spread over all that is too much, and some more.
  double FirstPrice() const { return 3 * std::max(extra(), mean_cost_) / std::max(overflow_, 1.0); }

  // Cuts for a little less than the budget, too: what is computed again needs room.
  RecomputationSet Cuts(double until) {
    constexpr int64_t kOfSearch = 5;  // steps of a cut take as long as one of the search
    RecomputationSet set;
    for (const double part : {1.0, 0.99, 0.97, 0.94}) {
      int64_t steps = 0;
      set = CutStart(problem_, budget_ * part, bound_.moment(), clock_.StepsUntil(until) * kOfSearch, &steps);
      clock_.Add(steps / kOfSearch);
      search_.Restart(set);
      if (search_.state().overflow() <= 0 || clock_.Gone() >= until) break;
    }
    return set;
  }

  void Anneal(double hot, double until) {
    const double begin = clock_.Gone();
    int64_t counted = search_.steps();
    search_.Anneal({mean_cost_ * hot, mean_cost_ * kCold, [&](int64_t steps) {
                      clock_.Add(steps - counted);
                      counted = steps;
                      return begin < until ? (clock_.Gone() - begin) / (until - begin) : 1;
                    }});
  }

  const RematProblem& problem_;
  double budget_, lost_;
  WorkClock& clock_;
  double mean_cost_;
  std::vector<double> levels_;  // of keeping everything
  LowerBound bound_;
  double gap_extra_ = 0;
  Search search_;
  double overflow_;  // of keeping everything
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
    const double begin = kShare * probe / kProbes, end = kShare * (probe + 1) / kProbes;
    attempt.bound().Find(begin + 0.2 * (end - begin));
    attempt.LookFromCuts(begin + 0.6 * (end - begin), end);
    if (!attempt.found()) attempt.LookFromNothing(end);
    if (!attempt.found()) {
      below = budget;
      continue;
    }
    best = attempt.best();
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
  answer.cost_once = answer.bound = answer.cut_bound = answer.gap_bound = problem.cost_once();
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

  // Parts of the time that is left: the bounds, the search from cuts, the search from nothing, the bounds again.
  const double begin = clock.Gone();
  const auto part = [&](double of_rest) { return begin + of_rest * (1 - begin); };
  Attempt attempt(problem, answer.budget, wishes.seed, &clock);
  attempt.bound().Find(part(0.13));
  attempt.BoundByGaps(0, part(0.15));
  if (!start.empty()) attempt.Take(start);
  attempt.LookFromCuts(part(0.5), part(0.8));
  if (!attempt.Proved()) attempt.LookFromNothing(part(0.85));
  if (attempt.found()) {
    answer.schedule = ScheduleOf(problem, attempt.best());
    const Result<RematOutcome> outcome = Simulate(problem, answer.schedule);
    CHECK(outcome.ok() && outcome->peak <= answer.budget);
    answer.outcome = *outcome;
    const double extra = static_cast<double>(answer.extra());
    if (!attempt.Proved()) attempt.BoundByGaps(extra, part(0.87));
    if (!attempt.Proved()) attempt.bound().Tighten(extra, 1);
  }
  answer.cut_bound += WholeCost(attempt.bound().extra());
  answer.gap_bound += WholeCost(attempt.gap_extra());
  answer.bound = std::max(answer.cut_bound, answer.gap_bound);
  CHECK(!answer.outcome || answer.outcome->cost >= answer.bound);
  return answer;
}

}  // namespace vramplan
