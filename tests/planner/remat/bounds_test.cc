// The three bounds, each against every schedule that there is.
#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "planner/remat/cut_bound.h"
#include "planner/remat/min_cut.h"
#include "planner/remat/random.h"
#include "planner/remat/recomputations.h"
#include "planner/remat/temporal_knapsack.h"
#include "tests/support/small_problems.h"

namespace vramplan {
namespace {

using testing::LeastCost;
using testing::SmallProblem;
using testing::TrainingChain;

RematProblem ProblemOf(uint64_t seed) {
  return seed % 2 == 0 ? SmallProblem(seed, 5 + static_cast<int32_t>(seed % 4))
                       : TrainingChain(seed, 3 + static_cast<int32_t>(seed % 3));
}

std::vector<double> LevelsOf(const RematProblem& problem) {
  Recomputations none(problem, 0);
  none.overflow();
  std::vector<double> levels;
  for (int32_t at = 0; at < problem.size(); ++at) levels.push_back(none.level(at));
  return levels;
}

// What must be computed again at least, for each budget between the working set and keeping everything.
template <typename Visit>
void ForEachBudget(const RematProblem& problem, Visit visit) {
  const int64_t keep_all = Simulate(problem, KeepAll(problem))->peak;
  for (int64_t budget = WorkingSet(problem); budget < keep_all; ++budget) {
    const std::optional<int64_t> least = LeastCost(problem, budget);
    if (least) visit(budget, static_cast<double>(*least - problem.cost_once()));
  }
}

TEST_CASE("the working set: nothing below it") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const RematProblem problem = ProblemOf(seed);
    CHECK_FALSE(LeastCost(problem, WorkingSet(problem) - 1));
  }
}

TEST_CASE("cuts at any moments and prices ask no more than the cheapest schedule pays") {
  int tight = 0, cases = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    const RematProblem problem = ProblemOf(seed);
    Random random(seed);
    ForEachBudget(problem, [&](int64_t budget, double least) {
      CAPTURE(budget);
      double best = 0;
      for (int trial = 0; trial < 12; ++trial) {
        std::vector<int32_t> moments;
        for (int32_t at = 0; at < problem.size(); ++at) {
          if (random.Chance(0.4)) moments.push_back(at);
        }
        if (moments.empty()) continue;
        CutBound cut(problem, static_cast<double>(budget), moments);
        std::vector<double> prices(moments.size(), 0);
        for (double& price : prices) price = random.Chance(0.5) ? random.Unit() * 3 : 0;
        const double asked = cut.At(prices);
        CHECK_LE(asked, least + 1e-6);
        best = std::max(best, asked);
      }
      for (int32_t moment = 0; moment < problem.size(); ++moment) {
        CutBound cut(problem, static_cast<double>(budget), {moment});
        double price = 0;
        const double asked = cut.BestPrice(&price);
        CHECK_LE(asked, least + 1e-6);
        best = std::max(best, asked);
      }
      ++cases;
      tight += best > least - 1 ? 1 : 0;
    });
  }
  MESSAGE(tight, " of ", cases, " within one of the least");
  CHECK_GT(cases, 200);
  CHECK_GT(tight, cases / 3);
}

TEST_CASE("a value that is read between two moments and let go at both is paid for twice") {
  // value 0 (cost 5, 4 bytes) is read by 2 and by 4; nodes 1 and 3 leave no room for it.
  const RematProblem problem({{5, 4}, {1, 6}, {1, 1}, {1, 6}, {1, 1}}, {{0, 2}, {0, 4}, {1, 2}, {3, 4}});
  CHECK_EQ(LeastCost(problem, 11), problem.cost_once());
  CHECK_FALSE(LeastCost(problem, 10));
  const RematProblem longer({{5, 4}, {1, 6}, {1, 1}, {1, 1}, {1, 6}, {1, 1}, {1, 1}},
                            {{0, 3}, {0, 6}, {1, 2}, {2, 3}, {4, 5}, {5, 6}});
  REQUIRE_EQ(LeastCost(longer, 9), longer.cost_once() + 10);
  CutBound cut(longer, 9, {1, 4});
  CHECK_EQ(cut.At({0, 0}), 10);  // 4 bytes never fit in the 3 that are left
  WorkClock clock(1, false);
  CHECK_EQ(TemporalKnapsackBound(longer, 9, LevelsOf(longer), 10, 1, &clock), doctest::Approx(10).epsilon(1e-3));
}

TEST_CASE("the temporal knapsack asks no more than the cheapest schedule pays, and sometimes as much") {
  int tight = 0, cases = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    CAPTURE(seed);
    const RematProblem problem = ProblemOf(seed);
    ForEachBudget(problem, [&](int64_t budget, double least) {
      CAPTURE(budget);
      WorkClock clock(1, false);
      for (const double known : {0.0, least, 3 * least}) {
        const double asked =
            TemporalKnapsackBound(problem, static_cast<double>(budget), LevelsOf(problem), known, 0.1, &clock);
        CHECK_LE(asked, least + 1e-6);
        if (known != least) continue;
        ++cases;
        tight += asked > least - 1 ? 1 : 0;
      }
    });
  }
  MESSAGE(tight, " of ", cases, " within one of the least");
  CHECK_GT(cases, 300);
  CHECK_GT(tight, cases / 4);
}

TEST_CASE("a cut that is stopped gives a flow, which is less") {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    constexpr int32_t kNodes = 30;
    MinCut cut(kNodes);
    for (int32_t node = 0; node < kNodes; ++node) {
      cut.Connect(cut.source(), node, random.Below(9));
      cut.Connect(node, cut.sink(), random.Below(9));
      cut.Connect(node, random.Below(kNodes), random.Below(9));
    }
    const double whole = cut.Run();
    CHECK(cut.complete());
    const int64_t steps = cut.steps();
    double before = 0;
    for (int64_t limit = 0; limit <= steps; limit += 20) {
      cut.SetLimit(cut.steps() + limit);
      const double flow = cut.Run();
      CHECK_GE(flow, before);
      CHECK_LE(flow, whole);
      before = flow;
    }
    cut.SetLimit(cut.steps() + 2 * steps);
    CHECK_EQ(cut.Run(), doctest::Approx(whole));
    CHECK(cut.complete());
  }
}

}  // namespace
}  // namespace vramplan
