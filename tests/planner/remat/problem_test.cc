#include "planner/remat/problem.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace vramplan {
namespace {

TEST_CASE("Simulate: what a schedule costs and holds") {
  //  0 -> 1 -> 2 -> 3, and 0 -> 3
  const RematProblem diamond({{5, 4}, {1, 2}, {1, 3}, {1, 1}}, {{0, 1}, {1, 2}, {0, 3}, {2, 3}});
  const RematProblem twice({{5, 4}, {1, 2}, {1, 3}, {1, 1}}, {{0, 1}, {1, 2}, {0, 3}, {2, 3}, {0, 1}, {2, 3}});
  const RematProblem alone({{7, 9}}, {});
  const RematProblem unrelated({{1, 3}, {1, 4}, {1, 5}}, {});
  const RematProblem free({{0, 0}, {0, 5}, {3, 0}}, {{0, 2}, {1, 2}});
  struct Row {
    const char* what;
    const RematProblem& problem;
    RematSchedule schedule;
    RematOutcome outcome;
  };
  const Row kRows[] = {
      {"as it is: 0, 1 and 2 at once", diamond, {0, 1, 2, 3}, {8, 9}},
      {"0 again before 3: let go after 1", diamond, {0, 1, 2, 0, 3}, {13, 8}},
      {"an edge that is there twice is one", twice, {0, 1, 2, 0, 3}, {13, 8}},
      {"computed again at once: for nothing", diamond, {0, 0, 1, 2, 3}, {13, 9}},
      {"1 again, and nobody uses it: only while it runs", diamond, {0, 1, 2, 1, 3}, {9, 9}},
      {"3 again at the end", diamond, {0, 1, 2, 3, 3}, {9, 9}},
      {"a node alone", alone, {0}, {7, 9}},
      {"no edges: one after the other", unrelated, {0, 1, 2}, {3, 5}},
      {"no bytes, no cost", free, {0, 1, 2}, {3, 5}},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    const Result<RematOutcome> outcome = Simulate(row.problem, row.schedule);
    REQUIRE(outcome.ok());
    CHECK_EQ(outcome->cost, row.outcome.cost);
    CHECK_EQ(outcome->peak, row.outcome.peak);
  }
}

TEST_CASE("Simulate: what is no schedule") {
  const RematProblem chain({{1, 1}, {1, 1}, {1, 1}}, {{0, 1}, {1, 2}});
  struct Row {
    RematSchedule schedule;
    const char* says;
  };
  const Row kRows[] = {
      {{0, 1, 2, 3}, "there is no node 3"},
      {{0, -1, 1, 2}, "there is no node -1"},
      {{0, 2, 1}, "node 2 comes before node 1"},
      {{1, 0, 2}, "node 1 comes before node 0"},
      {{0, 1}, "node 2 is left out"},
      {{}, "node 0 is left out"},
  };
  for (const Row& row : kRows) {
    const Result<RematOutcome> outcome = Simulate(chain, row.schedule);
    REQUIRE(!outcome.ok());
    CHECK_EQ(outcome.error().text, row.says);
  }
}

}  // namespace
}  // namespace vramplan
