#include "planner/solver/decide.h"

#include <algorithm>
#include <bit>

#include "planner/solver/fit_modules.h"
#include "planner/solver/fit_operators.h"
#include "planner/solver/working_set.h"

namespace vramplan {
namespace {

using MaybePlan = Result<std::optional<Plan>>;

bool Likes(const PlanWishes& wishes, int64_t batch) {
  return batch % wishes.multiple_of == 0 && (!wishes.power_of_two || std::has_single_bit(static_cast<uint64_t>(batch)));
}

// The largest batch that the user likes, at most `limit` and a divisor of `whole` when there is one; 0: none.
int64_t LargestLiked(const PlanWishes& wishes, int64_t limit, int64_t whole = 0) {
  for (int64_t batch = limit; batch >= 1; --batch) {
    if ((whole == 0 || whole % batch == 0) && Likes(wishes, batch)) return batch;
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
    decision.alternatives.insert(decision.alternatives.end(), operators_.begin(), operators_.end());
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
      if (!*found) return Done();
      plans->push_back(**found);
      if ((*found)->tier != Tier::kModules || wishes_.choice == ModuleChoice::kEveryOrNone) return Done();
      const MaybePlan operators = FitOperators(problem_, **found);
      if (!operators.ok()) return operators.error();
      // What saves calls is worth it only where it costs less than the modules it began with.
      if (*operators && (*operators)->SecondsASample() < (*found)->SecondsASample())
        (wishes_.tier == Tier::kOperators ? *plans : operators_).push_back(**operators);
      return Done();
    };
    if (wishes_.batch) return keep(AtBatch(wanted, *wishes_.batch));
    if (wishes_.effective_batch) return keep(Effective(wanted));
    const MaybePlan none = LargestPlan(problem_, wanted);
    if (!none.ok()) return none.error();
    if (Status kept = keep(Rounded(none)); !kept.ok() || wishes_.tier == Tier::kNone) return kept;
    Plan modules = wanted;
    if (*none) modules.batch = (*none)->batch;
    return keep(Rounded(LargestWithModules(problem_, modules, wishes_.choice)));
  }

  // The cheapest plan at this batch.
  MaybePlan AtBatch(Plan wanted, int64_t batch) const {
    wanted.batch = batch;
    if (wishes_.tier != Tier::kNone) return FitModules(problem_, wanted, wishes_.choice);
    const Result<Timeline> timeline = problem_.LayoutOf(wanted)(batch);
    if (!timeline.ok()) return timeline.error();
    wanted.peak = Replay(*timeline, batch, problem_.config, problem_.capacity);
    if (wanted.peak.out_of_memory) return std::optional<Plan>();
    TimePlan(problem_, &wanted);
    return std::optional(wanted);
  }

  // Down to the batches that the user likes.
  MaybePlan Rounded(MaybePlan found) const {
    if (!found.ok() || !*found || Likes(wishes_, (*found)->batch)) return found;
    const int64_t batch = LargestLiked(wishes_, (*found)->batch);
    if (batch == 0) return std::optional<Plan>();
    return AtBatch(**found, batch);
  }

  // Without accumulation where the whole batch fits; else the largest part of it.
  MaybePlan Effective(Plan wanted) const {
    const int64_t whole = *wishes_.effective_batch;
    MaybePlan largest = LargestPlan(problem_, wanted);
    if (!largest.ok()) return largest;
    if (*largest && (*largest)->batch >= whole && Likes(wishes_, whole)) return AtBatch(wanted, whole);
    wanted.accumulate = 2;  // gradients that wait for the next backward take room
    largest = LargestPlan(problem_, wanted);
    if (!largest.ok()) return largest;
    if (!*largest && wishes_.tier != Tier::kNone) largest = LargestWithModules(problem_, wanted, wishes_.choice);
    if (!largest.ok() || !*largest) return largest;
    const int64_t batch = LargestLiked(wishes_, std::min(whole, (*largest)->batch), whole);
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
    const bool free = !wishes_.batch && !wishes_.effective_batch && wishes_.multiple_of == 1 && !wishes_.power_of_two;
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
    const Layers& layers = problem_.ProgramOf(chosen.checkpoint).layers;
    const int64_t most = WorkingSetBatch(layers, spec, fixed, problem_.capacity, kLargestBatchTried);
    if (most >= kLargestBatchTried) return;
    decision->most_of_any_plan = most;
    decision->layer = WorkingSetOf(layers, spec, fixed, most).layer;
  }

  const PlanProblem& problem_;
  const PlanWishes& wishes_;
  std::vector<Plan> operators_;
};

}  // namespace

Result<Decision> Decide(const PlanProblem& problem, const PlanWishes& wishes) { return Decider(problem, wishes).Run(); }

}  // namespace vramplan
