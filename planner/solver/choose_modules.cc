#include "planner/solver/choose_modules.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace vramplan {
namespace {

constexpr int kImprovements = 12;  // rounds; mostly two or three change something
// How much a module's time counts when the next one is chosen: bytes a second, bytes alone, and between.
constexpr double kExponents[] = {1.0, 0.5, 0.0};

double Excess(const ModuleProfile& profile, const ModuleSet& set, int64_t most) {
  double excess = 0;
  for (const int64_t level : profile.Levels(set)) excess += static_cast<double>(std::max<int64_t>(0, level - most));
  return excess;
}

bool Within(const ModuleProfile& profile, const ModuleSet& set, int64_t most) { return profile.Highest(set) <= most; }

std::optional<ModuleSet> Greedy(const ModuleProfile& profile, int64_t most, double exponent) {
  ModuleSet set = profile.None();
  double excess = Excess(profile, set, most);
  while (excess > 0) {
    size_t best = profile.modules.size();
    double best_score = 0, best_excess = 0;
    for (size_t m = 0; m < profile.modules.size(); ++m) {
      if (set[m]) continue;
      set[m] = true;
      const double left = Excess(profile, set, most);
      set[m] = false;
      const double score = (excess - left) / std::pow(std::max(profile.modules[m].seconds, 1e-12), exponent);
      if (score > best_score) {
        best_score = score;
        best = m;
        best_excess = left;
      }
    }
    if (best == profile.modules.size()) return std::nullopt;
    set[best] = true;
    excess = best_excess;
  }
  return set;
}

// Takes out what is not needed, the dearest first; `keep` stays.
void Prune(const ModuleProfile& profile, int64_t most, size_t keep, ModuleSet* set) {
  std::vector<size_t> order(profile.modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return profile.modules[a].seconds > profile.modules[b].seconds; });
  for (const size_t m : order) {
    if (!(*set)[m] || m == keep) continue;
    (*set)[m] = false;
    if (!Within(profile, *set, most)) (*set)[m] = true;
  }
}

void Improve(const ModuleProfile& profile, int64_t most, ModuleSet* set) {
  for (int round = 0; round < kImprovements; ++round) {
    bool better = false;
    for (size_t m = 0; m < profile.modules.size(); ++m) {
      if ((*set)[m]) continue;
      ModuleSet other = *set;
      other[m] = true;
      if (!Within(profile, other, most)) continue;
      Prune(profile, most, m, &other);
      if (profile.Seconds(other) >= profile.Seconds(*set) * (1 - 1e-9)) continue;
      *set = std::move(other);
      better = true;
    }
    if (!better) return;
  }
}

}  // namespace

std::optional<ModuleSet> ChooseModules(const ModuleProfile& profile, int64_t most) {
  std::optional<ModuleSet> best;
  for (const double exponent : kExponents) {
    std::optional<ModuleSet> set = Greedy(profile, most, exponent);
    if (!set) continue;
    Prune(profile, most, profile.modules.size(), &*set);
    Improve(profile, most, &*set);
    if (!best || profile.Seconds(*set) < profile.Seconds(*best)) best = std::move(set);
  }
  return best;
}

ModuleSet LowestModules(const ModuleProfile& profile) {
  ModuleSet best = profile.None();
  int64_t fails = 0, fits = profile.Highest(best);
  for (int round = 0; round < 12 && fits - fails > fits / 256; ++round) {
    const int64_t middle = fails + (fits - fails) / 2;
    std::optional<ModuleSet> set;
    for (const double exponent : kExponents) {
      if (!set) set = Greedy(profile, middle, exponent);
    }
    if (!set) {
      fails = middle;
      continue;
    }
    Prune(profile, middle, profile.modules.size(), &*set);
    best = *std::move(set);
    fits = std::min(middle, profile.Highest(best));
  }
  return best;
}

std::optional<double> LeastSeconds(const ModuleProfile& profile, int64_t most) {
  double least = 0;
  std::vector<const ProfiledCall*> calls;
  for (const ProfiledCall& call : profile.calls) {
    if (call.own_saved > 0) calls.push_back(&call);
  }
  std::stable_sort(calls.begin(), calls.end(), [](const ProfiledCall* a, const ProfiledCall* b) {
    return a->own_seconds * static_cast<double>(b->own_saved) < b->own_seconds * static_cast<double>(a->own_saved);
  });
  for (size_t t = 0; t < profile.levels.size(); ++t) {
    int64_t excess = profile.levels[t] - most;
    double seconds = 0;
    for (const ProfiledCall* call : calls) {
      if (excess <= 0) break;
      if (t < call->begin || t >= call->end) continue;
      seconds += call->own_seconds * std::min(1.0, static_cast<double>(excess) / static_cast<double>(call->own_saved));
      excess -= call->own_saved;
    }
    if (excess > 0) return std::nullopt;
    least = std::max(least, seconds);
  }
  return least;
}

}  // namespace vramplan
