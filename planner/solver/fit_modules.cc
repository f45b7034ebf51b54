#include "planner/solver/fit_modules.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

#include "planner/solver/choose_modules.h"

namespace vramplan {
namespace {

constexpr int kChoices = 10;   // that are replayed before the profile is given up
constexpr int kRemovals = 10;  // that are tried, the dearest modules first

// Those of the framework's own switch; empty: it has none.
std::set<std::string> EveryOf(const PlanProblem& problem) {
  if (problem.checkpointed == nullptr) return {};
  return {problem.checkpointed->every.begin(), problem.checkpointed->every.end()};
}

class ModuleFitter {
 public:
  ModuleFitter(const PlanProblem& problem, const Plan& wanted, ModuleChoice choice)
      : problem_(problem),
        plan_(wanted),
        known_(wanted.checkpoint.begin(), wanted.checkpoint.end()),
        every_(EveryOf(problem)),
        every_or_none_(choice == ModuleChoice::kEveryOrNone && !every_.empty()) {
    plan_.checkpoint.clear();
    plan_.every_layer = false;
    plan_.saved.clear();
  }

  Result<std::optional<Plan>> Run() {
    Result<Timeline> kept = problem_.LayoutOf(plan_)(plan_.batch);
    if (!kept.ok()) return kept.error();
    plan_.peak = Replay(*kept, plan_.batch, problem_.config, problem_.capacity);
    const StepProgram& runs = problem_.ProgramToWrap();
    time_ = EstimateTime(runs.layers, problem_.With(plan_), problem_.rates, plan_.batch);
    if (!plan_.peak.out_of_memory) return Finish();
    if (problem_.checkpointed != nullptr) kept = problem_.LayoutOf(plan_, runs)(plan_.batch);
    if (!kept.ok()) return kept.error();
    profile_ = ProfileModules(*kept, runs.layers, time_);
    if (every_or_none_) {
      if (const Result<bool> fit = Try(Of(every_)); !fit.ok()) return fit.error();
      return best_ ? Finish() : std::optional<Plan>();
    }
    if (Status searched = Search(); !searched.ok()) return searched.error();
    if (!best_) return std::optional<Plan>();
    if (Status removed = Remove(); !removed.ok()) return removed.error();
    return Finish();
  }

 private:
  ModuleSet Of(const std::set<std::string>& paths) const {
    ModuleSet set = profile_.None();
    for (size_t m = 0; m < set.size(); ++m) set[m] = paths.contains(profile_.modules[m].path);
    return set;
  }

  // Replays a choice; keeps it when it is the cheapest that fits. False: it does not fit.
  Result<bool> Try(const ModuleSet& set) {
    Plan tried = plan_;
    tried.checkpoint = profile_.Paths(set);
    const Result<Timeline> timeline = problem_.LayoutOf(tried)(plan_.batch);
    if (!timeline.ok()) return timeline.error();
    Peak peak = Replay(*timeline, plan_.batch, problem_.config, problem_.capacity);
    if (peak.out_of_memory) {
      reached_ = Replay(*timeline, plan_.batch, problem_.config, Bytes::Max()).peak.reserved;
      return false;
    }
    if (!best_ || profile_.Seconds(set) < profile_.Seconds(*best_)) {
      best_ = set;
      peak_ = std::move(peak);
    }
    return true;
  }

  Status Search() {
    const int64_t capacity = problem_.capacity.count();
    int64_t fails = profile_.Highest(profile_.None()), fits = -1, most = capacity;
    std::optional<ModuleSet> last;
    for (int i = 0; i < kChoices; ++i) {
      std::optional<ModuleSet> set = ChooseModules(profile_, most);
      if (!set) break;
      const bool again = last && *last == *set;
      if (!again) {
        const Result<bool> fit = Try(*set);
        if (!fit.ok()) return fit.error();
        last_fits_ = *fit;
        last = set;
      }
      if (last_fits_) {
        fits = most;
        if (fails - fits < capacity / 256) break;
        most = fits + (fails - fits) / 2;
        if (i == 0) most = std::min(most, fits + capacity / 32);
      } else {
        fails = most;
        const int64_t over = std::max((reached_ - problem_.capacity).count(), capacity / 128);
        most = fits < 0 ? most - (again ? capacity / 64 : over) : fits + (fails - fits) / 2;
        if (fits >= 0 && fails - fits < capacity / 256) break;
      }
    }
    if (best_) return Done();
    for (const std::set<std::string>* paths : {&known_, &every_}) {
      if (best_ || paths->empty()) continue;
      if (const Result<bool> fit = Try(Of(*paths)); !fit.ok()) return fit.error();
    }
    if (best_) return Done();
    const Result<bool> fit = Try(LowestModules(profile_));
    if (!fit.ok()) return fit.error();
    return Done();
  }

  Status Remove() {
    std::vector<size_t> order(profile_.modules.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return profile_.modules[a].seconds > profile_.modules[b].seconds; });
    int tries = 0;
    for (const size_t m : order) {
      if (!(*best_)[m] || tries == kRemovals) continue;
      ++tries;
      ModuleSet without = *best_;
      without[m] = false;
      const Result<bool> fit = Try(without);
      if (!fit.ok()) return fit.error();
    }
    return Done();
  }

  Result<std::optional<Plan>> Finish() {
    if (best_) {
      const int accumulate = static_cast<int>(plan_.accumulate);
      const double step = time_.Step(0, accumulate) / accumulate;
      plan_.tier = Tier::kModules;
      plan_.checkpoint = profile_.Paths(*best_);
      plan_.every_layer = problem_.WrapsEvery(plan_.checkpoint);
      plan_.peak = std::move(peak_);
      plan_.overhead = profile_.Seconds(*best_) / step;
      const std::optional<double> least = LeastSeconds(profile_, problem_.capacity.count());
      plan_.bound = std::min(plan_.overhead, least.value_or(0) / step);
    }
    TimePlan(problem_, &plan_);
    return std::optional(std::move(plan_));
  }

  const PlanProblem& problem_;
  Plan plan_;
  const std::set<std::string> known_;  // paths that fit as they are
  const std::set<std::string> every_;  // those of the framework's own switch
  const bool every_or_none_;
  StepTime time_;
  ModuleProfile profile_;
  std::optional<ModuleSet> best_;
  Peak peak_;
  Bytes reached_;
  bool last_fits_ = false;
};

}  // namespace

Result<std::optional<Plan>> FitModules(const PlanProblem& problem, const Plan& wanted, ModuleChoice choice) {
  return ModuleFitter(problem, wanted, choice).Run();
}

Result<std::optional<Plan>> LargestWithModules(const PlanProblem& problem, const Plan& wanted, ModuleChoice choice) {
  Plan plan = wanted;
  plan.checkpoint.clear();
  plan.saved.clear();
  // Contiguity is special at batch 1; where the moments lie does not depend on the batch otherwise.
  const int64_t batch = std::max<int64_t>(2, plan.batch);
  const bool has_switch = problem.checkpointed != nullptr;
  if (!has_switch || choice == ModuleChoice::kAny) {
    const StepProgram& runs = problem.ProgramToWrap();
    const Result<Timeline> kept = problem.LayoutOf(plan, runs)(batch);
    if (!kept.ok()) return kept.error();
    const StepTime time = EstimateTime(runs.layers, problem.With(plan), problem.rates, batch);
    const ModuleProfile profile = ProfileModules(*kept, runs.layers, time);
    plan.checkpoint = profile.Paths(LowestModules(profile));
  }
  Result<std::optional<Plan>> largest = std::optional<Plan>();
  if (!plan.checkpoint.empty()) largest = LargestPlan(problem, plan);
  if (!largest.ok()) return largest;
  if (has_switch) {
    Plan every = plan;
    every.checkpoint = problem.checkpointed->every;
    Result<std::optional<Plan>> switched = LargestPlan(problem, every);
    if (!switched.ok()) return switched;
    if (*switched && (!*largest || (*switched)->batch > (*largest)->batch)) largest = std::move(switched);
  }
  if (!*largest) return largest;
  plan.checkpoint = (*largest)->checkpoint;
  plan.batch = (*largest)->batch;
  Result<std::optional<Plan>> cheapest = FitModules(problem, plan, choice);
  if (!cheapest.ok() || !*cheapest) return cheapest;
  (*cheapest)->first_failing_batch = (*largest)->first_failing_batch;
  return cheapest;
}

}  // namespace vramplan
