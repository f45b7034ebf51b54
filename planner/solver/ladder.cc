#include "planner/solver/ladder.h"

#include <algorithm>

#include "planner/semantics/optimizer.h"
#include "planner/solver/fit_modules.h"

namespace vramplan {
namespace {

// The 8-bit optimizer of bitsandbytes that stands for it; kNone: there is none.
Optimizer EightBits(Optimizer optimizer) {
  if (optimizer == Optimizer::kAdam) return Optimizer::kAdam8bit;
  if (optimizer == Optimizer::kAdamW) return Optimizer::kAdamW8bit;
  return optimizer == Optimizer::kLion ? Optimizer::kLion8bit : Optimizer::kNone;
}

// Within the card where it fits, else as if the card had no end: as fit answers it.
Peak PeakOn(const PlanProblem& problem, const Timeline& timeline, int64_t batch) {
  Peak peak = Replay(timeline, batch, problem.config, problem.capacity);
  if (!peak.out_of_memory) return peak;
  AllocatorConfig endless = problem.config;
  endless.device_total.reset();
  return Replay(timeline, batch, endless, Bytes::Max());
}

class Climber {
 public:
  Climber(const PlanProblem& problem, const Plan& start, const Plan* wrapped) : problem_(problem), wrapped_(wrapped) {
    ladder_.start = start;
  }

  Result<PlanLadder> Run(const std::vector<Precision>& precisions, const std::vector<ChangedProblem>& others) {
    Plan& start = ladder_.start;
    const Result<Timeline> timeline = problem_.LayoutOf(start)(start.batch);
    if (!timeline.ok()) return timeline.error();
    start.peak = PeakOn(problem_, *timeline, start.batch);
    TimePlan(problem_, &start);
    const Result<std::optional<Plan>> largest = LargestPlan(problem_, start);
    if (!largest.ok()) return largest.error();
    if (*largest) ladder_.largest = (*largest)->batch;
    for (const Precision precision : precisions) {
      if (precision == start.precision) continue;
      Plan other = start;
      other.precision = precision;
      Add(problem_, other, std::string(Name(precision)), "--precision " + std::string(Name(precision)));
    }
    if (problem_.spec.optimizer != Optimizer::kNone) AddOptimizers();
    PlanProblem expandable = problem_;
    expandable.config.expandable_segments = true;
    if (!problem_.config.expandable_segments)
      Add(expandable, start, "expandable segments", "--allocator-conf expandable_segments:True");
    if (start.batch > 1) AddAccumulation();
    AddModules();
    for (const ChangedProblem& other : others) {
      Plan changed = start;
      changed.precision = other.problem.spec.precision;
      Add(other.problem, changed, other.change, other.option);
    }
    std::stable_sort(ladder_.rungs.begin(), ladder_.rungs.end(),
                     [](const PlanRung& a, const PlanRung& b) { return a.time < b.time; });
    return std::move(ladder_);
  }

 private:
  // A change that cannot be laid out has no rung.
  void Add(const PlanProblem& changed, Plan plan, const std::string& change, const std::string& option) {
    const Plan& start = ladder_.start;
    const Result<Timeline> timeline = changed.LayoutOf(plan)(plan.batch);
    if (!timeline.ok()) return;
    const Peak peak = PeakOn(changed, *timeline, plan.batch);
    TimePlan(changed, &plan);
    const Result<std::optional<Plan>> largest = LargestPlan(changed, plan);
    if (!largest.ok()) return;
    ladder_.rungs.push_back({change, option, start.peak.peak.reserved - peak.peak.reserved,
                             *largest ? (*largest)->batch : 0, plan.SecondsASample() / start.SecondsASample() - 1});
  }

  void AddOptimizers() {
    if (eager::HasImpl(problem_.spec.optimizer, OptimizerImpl::kFused) &&
        ladder_.start.optimizer_impl != OptimizerImpl::kFused) {
      Plan fused = ladder_.start;
      fused.optimizer_impl = OptimizerImpl::kFused;
      Add(problem_, fused, "fused optimizer", "--optimizer-impl fused");
    }
    const Optimizer eight = EightBits(problem_.spec.optimizer);
    if (eight == Optimizer::kNone || IsDeepspeed(problem_.spec.strategy)) return;  // DeepSpeed has not tested them
    PlanProblem changed = problem_;
    changed.spec.optimizer = eight;
    Plan plan = ladder_.start;
    plan.optimizer_impl = eager::UsualImpl(eight);
    Add(changed, plan, std::string(Name(eight)), "--optimizer " + std::string(Name(eight)));
  }

  // Half the batch, twice.
  void AddAccumulation() {
    Plan half = ladder_.start;
    half.batch = (half.batch + 1) / 2;
    half.accumulate *= 2;
    Add(problem_, half, "accumulate " + std::to_string(half.accumulate) + " x batch " + std::to_string(half.batch),
        "--accumulate " + std::to_string(half.accumulate));
  }

  void AddModules() {
    Plan plan = ladder_.start;
    if (wrapped_ != nullptr) {
      plan.checkpoint = wrapped_->checkpoint;
      // The same seconds, as a share of the step with this optimizer.
      Plan there = plan;
      there.batch = wrapped_->batch;
      TimePlan(problem_, &there);
      plan.overhead = wrapped_->seconds * wrapped_->overhead / (1 + wrapped_->overhead) / there.seconds;
    } else {
      const Result<std::optional<Plan>> modules = LargestWithModules(problem_, ladder_.start);
      if (!modules.ok() || !*modules || (*modules)->checkpoint.empty()) return;
      plan = **modules;
      plan.batch = ladder_.start.batch;
    }
    if (problem_.WrapsEvery(plan.checkpoint)) {
      Add(problem_, plan, "checkpoint every layer", "--checkpoint all");
      return;
    }
    Add(problem_, plan,
        "checkpoint " + std::to_string(plan.checkpoint.size()) + (plan.checkpoint.size() == 1 ? " module" : " modules"),
        "--checkpoint " + plan.checkpoint.front() + (plan.checkpoint.size() > 1 ? " ..." : ""));
  }

  const PlanProblem& problem_;
  const Plan* const wrapped_;
  PlanLadder ladder_;
};

}  // namespace

Result<PlanLadder> ClimbLadder(const PlanProblem& problem, const Plan& start, const std::vector<Precision>& precisions,
                               const std::vector<ChangedProblem>& others, const Plan* wrapped) {
  return Climber(problem, start, wrapped).Run(precisions, others);
}

}  // namespace vramplan
