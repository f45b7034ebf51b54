// Emitted: a plan, or the step that fit was asked about, as the configuration that applies it (--emit).
#pragma once

#include <string>

#include "planner/answers/judge.h"
#include "planner/answers/prepare.h"
#include "planner/answers/question.h"
#include "planner/report/snippets/snippets.h"
#include "planner/solver/plan.h"

namespace vramplan {

// `spec`: that of the plan.
Result<std::string> EmittedPlan(Emit emit, const Question& question, const Prepared& prepared, const Plan& plan,
                                const TrainingSpec& spec, const Device& device);

// As it was asked: at its batch, else at the one that is safe, else at the one that may fit. `card`: its verdict, and it fits.
Result<std::string> EmittedStep(Emit emit, const Question& question, StepEnds& steps, const CardFit& card);

}  // namespace vramplan
