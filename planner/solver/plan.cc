#include "planner/solver/plan.h"

#include <algorithm>

#include "planner/timeline/name_ends.h"

namespace vramplan {

std::string_view Name(Tier tier) {
  switch (tier) {
    case Tier::kNone:
      return "none";
    case Tier::kModules:
      return "modules";
    case Tier::kOperators:
      return "operators";
  }
  return "";
}

TrainingSpec PlanProblem::With(const Plan& plan) const {
  TrainingSpec with = spec;
  with.precision = plan.precision;
  with.optimizer_impl = plan.optimizer_impl;
  with.accumulate = static_cast<int>(plan.accumulate);
  with.checkpoint = plan.checkpoint;
  with.saved = plan.saved;
  return with;
}

Layout PlanProblem::LayoutOf(const Plan& plan) const {
  return [this, with = With(plan)](int64_t batch) {
    Notes already_told;
    return ScheduleAs(releases, layers, with, batch, &already_told);
  };
}

Result<std::optional<Plan>> LargestPlan(const PlanProblem& problem, Plan wanted, int64_t asked) {
  Result<LargestBatch> found =
      FindLargestBatch(problem.LayoutOf(wanted), problem.layers, problem.config, problem.capacity, asked, wanted.batch);
  if (!found.ok()) return found.error();
  if (found->largest_batch == 0) return std::optional<Plan>();
  wanted.batch = found->largest_batch;
  wanted.first_failing_batch = found->first_failing_batch;
  wanted.peak = *std::move(found->peak);
  TimePlan(problem, &wanted);
  return std::optional(std::move(wanted));
}

void TimePlan(const PlanProblem& problem, Plan* plan) {
  const StepTime time = EstimateTime(problem.layers, problem.With(*plan), problem.rates, plan->batch);
  const int accumulate = static_cast<int>(plan->accumulate);
  plan->seconds = time.Step(0, accumulate) * (1 + plan->overhead);
}

}  // namespace vramplan
