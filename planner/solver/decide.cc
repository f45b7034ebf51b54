#include "planner/solver/decide.h"

#include <algorithm>

#include "planner/solver/fit_modules.h"
#include "planner/solver/working_set.h"

namespace vramplan {
namespace {

using MaybePlan = Result<std::optional<Plan>>;

// The largest divisor of `whole` that is at most `limit` and a multiple of `unit`; 0: none.
int64_t LargestDivisor(int64_t whole, int64_t limit, int64_t unit) {
  for (int64_t d = std::min(whole, limit); d >= 1; --d) {
    if (whole % d == 0 && d % unit == 0) return d;
  }
  return 0;
}

class Decider {
 public:
  Decider(const PlanProblem& problem, const PlanWishes& wishes) : problem_(problem), wishes_(wishes) {}

  Result<Decision> Run() {
    std::vector<Plan> plans;
    std::optional<Error> error;
    bool laid_out = false;
    for (const Precision precision : wishes_.precisions) {
      for (const OptimizerImpl impl : wishes_.impls) {
        Plan wanted;
        wanted.precision = precision;
        wanted.optimizer_impl = impl;
        wanted.accumulate = problem_.spec.accumulate;
        if (Status added = Add(wanted, &plans); !added.ok()) {
          if (!error) error = added.error();
        } else {
          laid_out = true;
        }
      }
    }
    if (!laid_out && error) return *error;
    Decision decision;
    if (plans.empty()) return decision;
    std::stable_sort(plans.begin(), plans.end(), [&](const Plan& a, const Plan& b) { return Better(a, b); });
    if (Status proved = Prove(&plans.front()); !proved.ok()) return proved.error();
    decision.chosen = plans.front();
    decision.alternatives.assign(plans.begin() + 1, plans.end());
    std::stable_sort(decision.alternatives.begin(), decision.alternatives.end(),
                     [](const Plan& a, const Plan& b) { return a.SecondsASample() < b.SecondsASample(); });
    Bound(&decision);
    return decision;
  }

 private:
  bool Better(const Plan& a, const Plan& b) const {
    if (wishes_.goal == Goal::kBatch && a.batch != b.batch) return a.batch > b.batch;
    return a.SecondsASample() < b.SecondsASample();
  }

  Status Add(const Plan& wanted, std::vector<Plan>* plans) {
    const auto keep = [&](const MaybePlan& found) -> Status {
      if (!found.ok()) return found.error();
      if (*found) plans->push_back(**found);
      return Done();
    };
    if (wishes_.batch) return keep(AtBatch(wanted, *wishes_.batch));
    if (wishes_.effective_batch) return keep(Effective(wanted));
    const MaybePlan none = LargestPlan(problem_, wanted);
    if (!none.ok()) return none.error();
    if (Status kept = keep(Rounded(none)); !kept.ok() || !wishes_.modules) return kept;
    Plan modules = wanted;
    if (*none) modules.batch = (*none)->batch;
    return keep(Rounded(LargestWithModules(problem_, modules)));
  }

  // The cheapest plan at this batch.
  MaybePlan AtBatch(Plan wanted, int64_t batch) const {
    wanted.batch = batch;
    if (wishes_.modules) return FitModules(problem_, wanted);
    const Result<Timeline> timeline = problem_.LayoutOf(wanted)(batch);
    if (!timeline.ok()) return timeline.error();
    wanted.peak = Replay(*timeline, batch, problem_.config, problem_.capacity);
    if (wanted.peak.out_of_memory) return std::optional<Plan>();
    TimePlan(problem_, &wanted);
    return std::optional(wanted);
  }

  // Down to the batches that the user likes.
  MaybePlan Rounded(MaybePlan found) const {
    if (!found.ok() || !*found || (*found)->batch % wishes_.multiple_of == 0) return found;
    const int64_t batch = (*found)->batch / wishes_.multiple_of * wishes_.multiple_of;
    if (batch == 0) return std::optional<Plan>();
    return AtBatch(**found, batch);
  }

  // Without accumulation where the whole batch fits; else the largest part of it.
  MaybePlan Effective(Plan wanted) const {
    const int64_t whole = *wishes_.effective_batch;
    MaybePlan largest = LargestPlan(problem_, wanted);
    if (!largest.ok()) return largest;
    if (*largest && (*largest)->batch >= whole && whole % wishes_.multiple_of == 0) return AtBatch(wanted, whole);
    wanted.accumulate = 2;  // gradients that wait for the next backward take room
    largest = LargestPlan(problem_, wanted);
    if (!largest.ok()) return largest;
    if (!*largest && wishes_.modules) largest = LargestWithModules(problem_, wanted);
    if (!largest.ok() || !*largest) return largest;
    const int64_t batch = LargestDivisor(whole, (*largest)->batch, wishes_.multiple_of);
    if (batch == 0) return std::optional<Plan>();
    wanted.accumulate = whole / batch;
    return AtBatch(wanted, batch);
  }

  // By replay: the chosen batch fits, and the first above it that does not.
  Status Prove(Plan* plan) const {
    if (plan->tier == Tier::kNone && plan->first_failing_batch) return Done();
    MaybePlan largest = LargestPlan(problem_, *plan, plan->batch);
    if (!largest.ok()) return largest.error();
    if (!*largest) return Done();
    plan->first_failing_batch = (*largest)->first_failing_batch;
    const bool free = !wishes_.batch && !wishes_.effective_batch && wishes_.multiple_of == 1;
    if (free && (*largest)->batch > plan->batch) *plan = **largest;
    return Done();
  }

  void Bound(Decision* decision) const {
    const Plan& chosen = *decision->chosen;
    Bytes fixed;
    for (const Category category : {Category::kParameters, Category::kBuffers, Category::kOptimizerState}) {
      fixed += chosen.peak.moment.categories[static_cast<size_t>(category)];
    }
    const TrainingSpec spec = problem_.With(chosen);
    const int64_t most = WorkingSetBatch(problem_.layers, spec, fixed, problem_.capacity, kLargestBatchTried);
    if (most >= kLargestBatchTried) return;
    decision->most_of_any_plan = most;
    decision->layer = WorkingSetOf(problem_.layers, spec, fixed, most).layer;
  }

  const PlanProblem& problem_;
  const PlanWishes& wishes_;
};

}  // namespace

Result<Decision> Decide(const PlanProblem& problem, const PlanWishes& wishes) { return Decider(problem, wishes).Run(); }

}  // namespace vramplan
