// Decide: the plan, among everything that the user allows: precisions x optimizer implementations x checkpointing.
//
//   nothing said          each combination's largest batch; the one with the least time a sample
//   --batch 64            each combination's cheapest plan at 64; the one with the least time
//   --effective-batch 64  each combination's largest micro-batch that divides 64, and 64 / micro-batch accumulations
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/solver/fit_modules.h"
#include "planner/solver/plan.h"

namespace vramplan {

enum class Goal : uint8_t { kTime, kBatch };  // least time a sample; the largest batch, whatever it takes

struct PlanWishes {
  std::optional<int64_t> batch, effective_batch;
  int64_t multiple_of = 1;
  bool power_of_two = false;  // the batch shall be one
  Goal goal = Goal::kTime;
  Tier tier = Tier::kModules;  // the chosen plan's, at most
  ModuleChoice choice = ModuleChoice::kAny;
  std::vector<Precision> precisions;
  std::vector<OptimizerImpl> impls;
};

struct Decision {
  std::optional<Plan> chosen;  // nothing: no plan fits
  // The others that fit, by time a sample; beside each with checkpointed modules the one that saves operator calls.
  std::vector<Plan> alternatives;
  // No plan of this precision holds a larger batch than this, because of the working set of `layer`.
  std::optional<int64_t> most_of_any_plan;
  std::string layer;
};

// Errors: those of Schedule, when no combination can be laid out.
Result<Decision> Decide(const PlanProblem& problem, const PlanWishes& wishes);

}  // namespace vramplan
