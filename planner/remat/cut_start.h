// CutStart: a set of recomputations to begin a search with, of minimum cuts: at the moment that holds most, what the
// cut of the best price does not keep is let go and computed again when it is needed; then the same at what is the
// highest moment now. Often within a percent of the best, sometimes a little above the budget.
#pragma once

#include <vector>

#include "planner/remat/recomputations.h"

namespace vramplan {

// `moment` first. At most about `limit` steps of work; those done are added to `steps`.
std::vector<Recomputation> CutStart(const RematProblem& problem, double budget, int32_t moment, int64_t limit,
                                    int64_t* steps);

}  // namespace vramplan
