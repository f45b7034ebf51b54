// Emitted: a plan, or the step that fit was asked about, as the configuration that applies it (--emit).
#pragma once

#include <string>

#include "planner/cli/judge.h"
#include "planner/cli/options.h"
#include "planner/cli/prepare.h"
#include "planner/solver/plan.h"

namespace vramplan {

// `spec`: that of the plan.
Result<std::string> EmittedPlan(const Options& options, const Prepared& prepared, const Plan& plan,
                                const TrainingSpec& spec, const Device& device);

// As it was asked: at its batch, else at the one that is safe, else at the one that may fit. `card`: its verdict, and it fits.
Result<std::string> EmittedStep(const Options& options, StepEnds& steps, const CardFit& card);

}  // namespace vramplan
