#include "planner/solver/fit_operators.h"

#include <algorithm>
#include <set>
#include <string>

#include "planner/solver/choose_calls.h"

namespace vramplan {
namespace {

constexpr int kDepths = 4;   // of the module tree that are tried
constexpr int kReplays = 6;  // of the choice that looks best, and of the next one when none of those fits

// Modules of one depth, with those that end above it.
std::vector<std::string> PathsAtDepth(const ModuleProfile& profile, int depth) {
  std::vector<int> depths(profile.modules.size(), 0);
  std::vector<bool> holds(profile.modules.size());
  for (const ProfiledCall& call : profile.calls) {
    int around = call.around, deep = 0;
    for (; around >= 0; around = profile.calls[static_cast<size_t>(around)].around) ++deep;
    depths[call.module] = std::max(depths[call.module], deep);
    if (call.around >= 0) holds[profile.calls[static_cast<size_t>(call.around)].module] = true;
  }
  std::vector<std::string> paths;
  bool any = false;
  for (size_t m = 0; m < profile.modules.size(); ++m) {
    any = any || depths[m] == depth;
    if (depths[m] == depth || (depths[m] < depth && !holds[m])) paths.push_back(profile.modules[m].path);
  }
  return any ? paths : std::vector<std::string>();
}

// Those that are in no other one of them.
std::vector<std::string> Outermost(const ModuleProfile& profile, const std::vector<std::string>& paths) {
  const auto is_given = [&](size_t module) {
    return std::find(paths.begin(), paths.end(), profile.modules[module].path) != paths.end();
  };
  std::set<size_t> inside;
  for (const ProfiledCall& call : profile.calls) {
    for (int around = call.around; around >= 0; around = profile.calls[static_cast<size_t>(around)].around) {
      if (is_given(profile.calls[static_cast<size_t>(around)].module)) inside.insert(call.module);
    }
  }
  std::vector<std::string> outermost;
  for (size_t m = 0; m < profile.modules.size(); ++m) {
    if (is_given(m) && inside.count(m) == 0) outermost.push_back(profile.modules[m].path);
  }
  return outermost;
}

struct Wrapped {
  CallProfile profile;
  CallChoice choice;  // within the capacity, by the profile
};

class OperatorFitter {
 public:
  OperatorFitter(const PlanProblem& problem, const Plan& wanted)
      : problem_(problem), layers_(problem.ProgramToWrap().layers), plan_(wanted), given_(wanted.checkpoint) {
    plan_.checkpoint.clear();
    plan_.saved.clear();
  }

  Result<std::optional<Plan>> Run() {
    const Result<Timeline> kept = problem_.LayoutOf(plan_, problem_.ProgramToWrap())(plan_.batch);
    if (!kept.ok()) return kept.error();
    if (!Replay(*kept, plan_.batch, problem_.config, problem_.capacity).out_of_memory) return std::optional<Plan>();
    time_ = EstimateTime(layers_, problem_.With(plan_), problem_.rates, plan_.batch);
    const ModuleProfile modules = ProfileModules(*kept, layers_, time_);
    std::vector<Wrapped> wrapped;
    std::vector<std::vector<std::string>> sets = {Outermost(modules, given_)};
    for (int depth = 0; depth < kDepths; ++depth) sets.push_back(PathsAtDepth(modules, depth));
    for (const std::vector<std::string>& paths : sets) {
      if (paths.empty()) continue;
      Plan all = plan_;
      all.checkpoint = paths;
      const Result<Timeline> timeline = problem_.LayoutOf(all)(plan_.batch);
      if (!timeline.ok()) return timeline.error();
      Wrapped tried{ProfileCalls(*timeline, layers_, time_, modules), {}};
      std::optional<CallChoice> choice = ChooseCalls(tried.profile, problem_.capacity.count());
      if (!choice) continue;
      tried.choice = *std::move(choice);
      wrapped.push_back(std::move(tried));
    }
    std::stable_sort(wrapped.begin(), wrapped.end(),
                     [](const Wrapped& a, const Wrapped& b) { return a.choice.seconds < b.choice.seconds; });
    for (const Wrapped& tried : wrapped) {
      if (const Status searched = Search(tried); !searched.ok()) return searched.error();
      if (best_) break;
    }
    if (!best_ || best_->saved.empty()) return std::optional<Plan>();
    return Finish(*kept);
  }

 private:
  Status Search(const Wrapped& wrapped) {
    const int64_t capacity = problem_.capacity.count();
    int64_t fits = -1, fails = -1, most = capacity;
    for (int i = 0; i < kReplays; ++i) {
      const std::optional<CallChoice> choice = ChooseCalls(wrapped.profile, most);
      if (!choice) break;
      Plan tried = plan_;
      tried.checkpoint = choice->checkpoint;
      tried.saved = choice->saved;
      const Result<Timeline> timeline = problem_.LayoutOf(tried)(plan_.batch);
      if (!timeline.ok()) return timeline.error();
      Peak peak = Replay(*timeline, plan_.batch, problem_.config, problem_.capacity);
      if (peak.out_of_memory) {
        fails = most;
        const Bytes reached = Replay(*timeline, plan_.batch, problem_.config, Bytes::Max()).peak.reserved;
        const int64_t over = std::max((reached - problem_.capacity).count(), capacity / 128);
        most = fits < 0 ? most - over : fits + (fails - fits) / 2;
      } else {
        fits = most;
        if (!best_ || choice->seconds < best_->seconds) {
          best_ = *choice;
          peak_ = std::move(peak);
        }
        most = fails < 0 ? most + capacity / 64 : fits + (fails - fits) / 2;
      }
      if (fits >= 0 && fails >= 0 && fails - fits < capacity / 256) break;
    }
    return Done();
  }

  Result<std::optional<Plan>> Finish(const Timeline& kept) {
    const int accumulate = static_cast<int>(plan_.accumulate);
    const double step = time_.Step(0, accumulate) / accumulate;
    plan_.tier = Tier::kOperators;
    plan_.checkpoint = best_->checkpoint;
    plan_.every_layer = false;  // whose switch saves no calls
    plan_.saved = best_->saved;
    plan_.peak = std::move(peak_);
    plan_.overhead = best_->seconds / step;
    const double least = LeastSecondsOfAny(kept, layers_, time_, problem_.capacity.count());
    plan_.bound = std::min(plan_.overhead, least / step);
    TimePlan(problem_, &plan_);
    return std::optional(std::move(plan_));
  }

  const PlanProblem& problem_;
  const Layers& layers_;
  Plan plan_;
  const std::vector<std::string> given_;
  StepTime time_;
  std::optional<CallChoice> best_;
  Peak peak_;
};

}  // namespace

Result<std::optional<Plan>> FitOperators(const PlanProblem& problem, const Plan& wanted) {
  return OperatorFitter(problem, wanted).Run();
}

}  // namespace vramplan
