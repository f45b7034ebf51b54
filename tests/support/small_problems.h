// Small rematerialisation problems, and the least that they can cost: by trying everything.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/remat/problem.h"

namespace vramplan::testing {

// `nodes` of them, values that are used now and much later; costs and bytes of 0 to 9.
RematProblem SmallProblem(uint64_t seed, int32_t nodes);
// The same shape as a training step: a forward, and a backward that reads it in reverse.
RematProblem TrainingChain(uint64_t seed, int32_t layers);

// The least cost of any schedule within the budget, by a search through every state (frontier, values held); nothing:
// there is none. Of at most 12 nodes.
std::optional<int64_t> LeastCost(const RematProblem& problem, int64_t budget);

}  // namespace vramplan::testing
