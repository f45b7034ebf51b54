// CutStart: a set of recomputations to begin a search with, made from minimum cuts. At the moment that holds most, the
// values that the cut of the best price does not keep are freed, and computed again when they are needed; then the same
// at the moment that is highest now. Often within a percent of the best, sometimes a little above the budget.
#pragma once

#include <vector>

#include "planner/remat/recomputations.h"

namespace vramplan {

// `moment` first. At most about `limit` steps of work; those done are added to `steps`.
std::vector<Recomputation> CutStart(const RematProblem& problem, double budget, int32_t moment, int64_t limit,
                                    int64_t* steps);

}  // namespace vramplan
