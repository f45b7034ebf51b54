#include "planner/remat/solve.h"

#include <doctest/doctest.h>

#include <algorithm>
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
      CHECK_LE(answer.cut_bound, *least);
      CHECK_LE(answer.gap_bound, *least);
      CHECK_EQ(answer.bound, std::max(answer.cut_bound, answer.gap_bound));
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

TEST_CASE("a set of many is what it is one by one") {
  const RematProblem problem = TrainingChain(5, 2500);
  Random random(1);
  std::vector<Recomputation> wanted;
  for (int32_t stage = 2600; stage < problem.size(); ++stage) wanted.push_back({stage, random.Below(2500)});
  Recomputations at_once(problem, 4000), one_by_one(problem, 4000);
  at_once.SetTo(wanted);
  for (const Recomputation& one : wanted) one_by_one.Add(one);
  CHECK_EQ(at_once.overflow(), one_by_one.overflow());
  CHECK_EQ(at_once.extra_cost(), one_by_one.extra_cost());
  CHECK(at_once.Schedule() == one_by_one.Schedule());
  bool same = true;
  for (int32_t at = 0; at < problem.size(); ++at) same = same && at_once.level(at) == one_by_one.level(at);
  CHECK(same);
  for (const Recomputation& one : wanted) at_once.Remove(one);
  CHECK_EQ(at_once.extra_cost(), 0);
  CHECK_EQ(at_once.overflow(), Recomputations(problem, 4000).overflow());
}

TEST_CASE("costs and bytes of which doubles lose the last digits, and graphs that do not fit the time") {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const int32_t layers = seed % 2 == 0 ? 20 : 20000;
    const RematProblem shape = TrainingChain(seed, layers);
    std::vector<RematNode> nodes;
    std::vector<RematProblem::Edge> edges;
    for (int32_t node = 0; node < shape.size(); ++node) {
      const int64_t most = (int64_t{1} << 61) / shape.size();
      nodes.push_back({most - random.Below(1000), most / 10 * shape[node].bytes + random.Below(1000)});
      for (const int32_t read : shape.Reads(node)) edges.emplace_back(read, node);
    }
    const RematProblem problem(nodes, edges);
    const int64_t keep_all = Simulate(problem, KeepAll(problem))->peak;
    for (const int64_t budget : {keep_all - 1, keep_all / 10 * 7, WorkingSet(problem)}) {
      const RematAnswer answer = Solve(problem, {.budget = budget, .seconds = 0.02, .real_clock = false});
      CHECK_GE(answer.bound, problem.cost_once());
      if (answer.outcome) CHECK_LE(answer.outcome->peak, budget);
    }
  }
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
