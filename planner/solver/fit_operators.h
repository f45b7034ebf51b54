// FitOperators: the cheapest choice of modules to checkpoint and of operator calls to save inside them with which a
// batch fits: selective activation checkpoints.
//
//   wrap all blocks of one depth of the module tree, or what the module tier chose; lay that out; choose the calls
//   to save by its levels; replay; if it does not fit, choose again for less memory, and if room is left, for more
//
// Checkpoints that save calls do not nest: PyTorch would ask both policies.
#pragma once

#include <optional>

#include "planner/solver/plan.h"

namespace vramplan {

// `wanted`: batch, precision, implementation and accumulation; `checkpoint`, a choice that fits. Nothing: no choice
// with saved calls was found that fits, or the step fits without any.
Result<std::optional<Plan>> FitOperators(const PlanProblem& problem, const Plan& wanted);

}  // namespace vramplan
