#include "planner/remat/solve.h"

#include <doctest/doctest.h>

#include <vector>

#include "planner/remat/cut_bound.h"
#include "planner/remat/random.h"
#include "planner/remat/recomputations.h"
#include "tests/support/small_problems.h"

namespace vramplan {
namespace {

using testing::LeastCost;
using testing::SmallProblem;
using testing::TrainingChain;

TEST_CASE("against every schedule there is: bound <= least cost <= solver, and mostly the least itself") {
  int feasible = 0, equal = 0, proved = 0, missed = 0;
  const auto try_all = [&](const RematProblem& problem) {
    const int64_t keep_all = Simulate(problem, KeepAll(problem))->peak;
    for (int64_t budget = WorkingSet(problem) - 1; budget <= keep_all; budget += 2) {
      CAPTURE(budget);
      const std::optional<int64_t> least = LeastCost(problem, budget);
      const RematAnswer answer = Solve(problem, {.budget = budget, .seconds = 0.004, .real_clock = false});
      if (answer.impossible()) CHECK(!least);
      if (answer.outcome) {
        REQUIRE(least);
        const Result<RematOutcome> outcome = Simulate(problem, answer.schedule);
        REQUIRE(outcome.ok());
        CHECK(*outcome == *answer.outcome);
        CHECK_LE(outcome->peak, budget);
        CHECK_GE(outcome->cost, *least);
        if (answer.proved_optimal()) CHECK_EQ(outcome->cost, *least);
        equal += outcome->cost == *least ? 1 : 0;
        proved += answer.proved_optimal() ? 1 : 0;
      }
      if (!least) continue;
      ++feasible;
      missed += answer.outcome ? 0 : 1;
      CHECK_LE(answer.bound, *least);
    }
  };
  for (uint64_t seed = 0; seed < 70; ++seed) {
    CAPTURE(seed);
    try_all(SmallProblem(seed, 4 + static_cast<int32_t>(seed % 5)));
    try_all(TrainingChain(seed, 3 + static_cast<int32_t>(seed % 2)));
  }
  MESSAGE(feasible, " feasible, ", equal, " at the least cost, ", proved, " proved, ", missed, " not found");
  CHECK_GT(feasible, 300);
  CHECK_GE(equal, feasible * 97 / 100);
  CHECK_GT(proved, feasible / 4);
}

TEST_CASE("Recomputations: cost, level and overflow are those of the schedule, whatever was added and taken away") {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    CAPTURE(seed);
    const RematProblem problem = seed % 2 == 0 ? SmallProblem(seed, 14) : TrainingChain(seed, 8);
    Random random(seed);
    Recomputations set(problem, 20);
    for (int step = 0; step < 200; ++step) {
      const int32_t stage = 1 + random.Below(problem.size() - 1);
      const Recomputation one{stage, random.Below(stage)};
      set.Has(one) ? set.Remove(one) : set.Add(one);
      if (step % 3 != 0) continue;
      const Result<RematOutcome> outcome = Simulate(problem, set.Schedule());
      REQUIRE(outcome.ok());
      double peak = 0, overflow = 0;
      const double kept = set.overflow();
      for (int32_t at = 0; at < problem.size(); ++at) {
        peak = std::max(peak, set.level(at));
        overflow += std::max(0.0, set.level(at) - 20);
      }
      CHECK_EQ(peak, static_cast<double>(outcome->peak));
      CHECK_EQ(overflow, kept);
      CHECK_EQ(set.extra_cost(), static_cast<double>(outcome->cost - problem.cost_once()));
    }
    set.SetTo({});
    CHECK_EQ(set.extra_cost(), 0);
    CHECK(set.all().empty());
  }
}

TEST_CASE("the same seed gives the same schedule, and what fits as it is stays as it is") {
  const RematProblem problem = TrainingChain(3, 60);
  const int64_t keep_all = Simulate(problem, KeepAll(problem))->peak;
  const RematWishes wishes{.budget = keep_all / 2, .seconds = 0.05, .seed = 7, .real_clock = false};
  const RematAnswer first = Solve(problem, wishes), second = Solve(problem, wishes);
  REQUIRE(first.outcome);
  CHECK(first.schedule == second.schedule);
  CHECK_EQ(first.bound, second.bound);
  CHECK_LE(first.gap(), 0.05);
  const RematAnswer roomy = Solve(problem, {.budget = keep_all});
  CHECK(roomy.schedule == KeepAll(problem));
  CHECK(roomy.proved_optimal());
  CHECK_EQ(roomy.extra(), 0);
}

TEST_CASE("without a budget: the least peak that is found, which is mostly the least there is") {
  int least = 0, all = 0;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CAPTURE(seed);
    const RematProblem problem = TrainingChain(seed, 4);
    const RematAnswer answer = Solve(problem, {.seconds = 0.02, .real_clock = false});
    REQUIRE(answer.outcome);
    CHECK_EQ(answer.outcome->peak, answer.budget);
    const std::optional<int64_t> cost = LeastCost(problem, answer.budget);
    REQUIRE(cost);
    CHECK_GE(answer.outcome->cost, *cost);
    least += LeastCost(problem, answer.budget - 1) ? 0 : 1;
    ++all;
  }
  CHECK_GE(least, all * 3 / 4);
}

}  // namespace
}  // namespace vramplan
