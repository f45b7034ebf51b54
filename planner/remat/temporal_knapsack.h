// TemporalKnapsack: what any schedule must compute again because of what fits at many moments, one gap at a time.
//
//   value i    computed ###---------#--------#  last use      two gaps between uses; one that is open costs i once more
//                          moment 1    moment 2               and lets go of its bytes at every moment in it
//
// At each moment the open gaps must free the bytes above the budget. A price for each moment makes the gaps independent
// (Lagrange): a gap is open when the bytes that it frees are worth more than its cost. A gap counts at most the bytes
// above the budget, which makes the bound tighter than the linear one. The inputs that a recomputation needs are left
// out here; CutBound has them, but looks at fewer moments.
#pragma once

#include <vector>

#include "planner/remat/clock.h"
#include "planner/remat/problem.h"

namespace vramplan {

// A bound for what is computed again. `levels`: what the order as it is holds, by node; `known`: what a schedule pays,
// or a guess of it, for the length of the steps. Until this part of the time is gone.
double TemporalKnapsackBound(const RematProblem& problem, double budget, const std::vector<double>& levels,
                             double known, double until, WorkClock* clock);

}  // namespace vramplan
