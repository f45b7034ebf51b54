// FitModules: the cheapest choice of modules to checkpoint with which a batch fits.
//
//   choose by the profile and replay the choice; if it does not fit, choose again for less memory, and if room is left,
//   for more; in the end drop each module without which the replay still fits
//
// Invariant: what it returns was replayed within the capacity, and no module of it can be left out.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/solver/module_profile.h"
#include "planner/solver/plan.h"

namespace vramplan {

// Which modules a plan may wrap: any; or, of a problem that has CheckpointedPrograms, all of `every` or none, since what the
// plan is written for (transformers' TrainingArguments) can be told no more.
enum class ModuleChoice : uint8_t { kAny, kEveryOrNone };

// `wanted`: batch, precision, implementation and accumulation; `checkpoint`, a choice that is known to fit, is what is
// taken when nothing cheaper is found. Nothing: no choice found that fits.
Result<std::optional<Plan>> FitModules(const PlanProblem& problem, const Plan& wanted,
                                       ModuleChoice choice = ModuleChoice::kAny);

// The largest batch that any choice of modules reaches, as far as the profile finds it. Nothing: not even batch 1.
Result<std::optional<Plan>> LargestWithModules(const PlanProblem& problem, const Plan& wanted,
                                               ModuleChoice choice = ModuleChoice::kAny);

}  // namespace vramplan
