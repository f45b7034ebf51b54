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

bool PlanProblem::WrapsEvery(const std::vector<std::string>& checkpoint) const {
  return checkpointed != nullptr && std::ranges::all_of(checkpointed->every, [&](const std::string& path) {
           return std::ranges::find(checkpoint, path) != checkpoint.end();
         });
}

const StepProgram& PlanProblem::ProgramOf(const std::vector<std::string>& checkpoint) const {
  if (checkpointed == nullptr || checkpoint.empty()) return program;
  return WrapsEvery(checkpoint) ? checkpointed->all : checkpointed->some;
}

Layout PlanProblem::LayoutOf(const Plan& plan, const StepProgram& runs) const {
  return [&runs, with = With(plan)](int64_t batch) {
    Notes already_told;
    return ScheduleAs(runs.releases, runs.layers, with, batch, &already_told);
  };
}

Result<std::optional<Plan>> LargestPlan(const PlanProblem& problem, Plan wanted, int64_t asked) {
  Result<LargestBatch> found = FindLargestBatch(problem.LayoutOf(wanted), problem.ProgramOf(wanted.checkpoint).layers,
                                                problem.config, problem.capacity, asked, wanted.batch);
  if (!found.ok()) return found.error();
  if (found->largest_batch == 0) return std::optional<Plan>();
  wanted.batch = found->largest_batch;
  wanted.first_failing_batch = found->first_failing_batch;
  wanted.peak = *std::move(found->peak);
  TimePlan(problem, &wanted);
  return std::optional(std::move(wanted));
}

Status ProveWithin(const PlanProblem& problem, Plan* plan) {
  const Result<Timeline> step = problem.LayoutOf(*plan)(plan->batch);
  if (!step.ok()) return step.error();
  plan->peak = Replay(*step, plan->batch, problem.config, problem.capacity);
  const Result<std::optional<Plan>> largest = LargestPlan(problem, *plan, plan->batch);
  if (!largest.ok()) return largest.error();
  if (*largest) plan->first_failing_batch = (*largest)->first_failing_batch;
  return Done();
}

void TimePlan(const PlanProblem& problem, Plan* plan) {
  const StepTime time = EstimateTime(problem.program.layers, problem.With(*plan), problem.rates, plan->batch);
  const int accumulate = static_cast<int>(plan->accumulate);
  plan->seconds = time.Step(0, accumulate) * (1 + plan->overhead);
}

}  // namespace vramplan
