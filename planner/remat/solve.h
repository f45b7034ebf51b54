// Solve: the cheapest schedule of a problem within a budget of bytes that can be found in the time given, and how far
// from the cheapest one it can be at most.
//
//   ResNet-50, 9.1 of 22.0 GB: cost 109 059, no schedule of this order costs less than 109 035: gap 0.02 %
//
// The same problem, budget, seconds and seed give the same schedule on any machine that is fast enough: work is
// counted, and the clock only ends it early.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/remat/problem.h"

namespace vramplan {

struct RematWishes {
  std::optional<int64_t> budget;  // nothing: the least that a schedule is found for
  double seconds = 1;
  uint64_t seed = 0;
  bool real_clock = true;  // false: counted work alone ends it, however long that takes
};

struct RematAnswer {
  int64_t budget = 0;
  RematSchedule schedule;               // empty: none was found
  std::optional<RematOutcome> outcome;  // of the schedule, simulated
  int64_t cost_once = 0;                // of every node once
  int64_t bound = 0;                    // no schedule within the budget costs less: the largest of the next two
  int64_t cut_bound = 0;                // by minimum cuts (CutBound)
  int64_t gap_bound = 0;                // by gaps (TemporalKnapsack)
  int64_t working_set = 0;              // no schedule has a lower peak
  int64_t keep_all = 0;                 // the peak of the order as it is

  bool impossible() const { return working_set > budget; }  // proved
  int64_t extra() const { return outcome->cost - cost_once; }
  double gap() const;  // (cost - bound) / cost
  bool proved_optimal() const { return outcome && outcome->cost == bound; }
};

RematAnswer Solve(const RematProblem& problem, const RematWishes& wishes);

}  // namespace vramplan
