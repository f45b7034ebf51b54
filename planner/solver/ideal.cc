#include "planner/solver/ideal.h"

#include <map>

#include "planner/remat/solve.h"
#include "planner/solver/step_problem.h"

namespace vramplan {
namespace {

// Requested bytes that are there at the end of the last step and before it, whatever runs.
Bytes Fixed(const Timeline& timeline) {
  std::map<BlockId, Bytes> alive;
  for (const Event& event : timeline.events) {
    if (!event.block.valid()) continue;
    const Category category = timeline[event.block].category;
    const bool stays = category == Category::kParameters || category == Category::kBuffers ||
                       category == Category::kOptimizerState || category == Category::kInputs;
    if (event.kind == EventKind::kAllocate && stays)
      alive[event.block] = timeline[event.block].bytes.At(timeline.batch);
    if (event.kind == EventKind::kFree) alive.erase(event.block);
  }
  Bytes fixed;
  for (const auto& [block, bytes] : alive) fixed += bytes;
  return fixed;
}

}  // namespace

std::optional<Ideal> IdealOf(const PlanProblem& problem, const Plan& plan) {
  constexpr double kSeconds = 0.075;  // of counted work
  if (plan.accumulate > 1 || plan.overhead <= 0) return std::nullopt;
  const TrainingSpec spec = problem.With(plan);
  const Layers& layers = problem.ProgramOf(plan.checkpoint).layers;
  const Result<Timeline> timeline = problem.LayoutOf(plan)(plan.batch);
  const Result<RematProblem> step = StepProblem(layers, spec, problem.rates, plan.batch);
  if (!timeline.ok() || !step.ok()) return std::nullopt;
  const int64_t budget = (problem.capacity - Fixed(*timeline)).count();
  const RematAnswer answer = Solve(*step, {.budget = budget, .seconds = kSeconds, .real_clock = false});
  if (answer.impossible()) return std::nullopt;
  // Nanoseconds, of the step that the overhead of plans is a part of.
  const double whole = EstimateTime(layers, spec, problem.rates, plan.batch).Step() * 1e9;
  Ideal ideal;
  ideal.bound = static_cast<double>(answer.bound - answer.cost_once) / whole;
  if (answer.outcome) ideal.overhead = static_cast<double>(answer.extra()) / whole;
  return ideal;
}

}  // namespace vramplan
