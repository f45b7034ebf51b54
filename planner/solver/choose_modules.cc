#include "planner/solver/choose_modules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace vramplan {
namespace {

constexpr int kImprovements = 12;  // rounds; mostly two or three change something
// How much a module's time counts when the next one is chosen: bytes a second, bytes alone, and between.
constexpr double kExponents[] = {1.0, 0.5, 0.0};

double Excess(const ModuleProfile& profile, const ModuleSet& set, int64_t most) {
  if (!profile.Allows(set)) return std::numeric_limits<double>::infinity();
  double excess = 0;
  for (const int64_t level : profile.Levels(set)) excess += static_cast<double>(std::max<int64_t>(0, level - most));
  return excess;
}

bool Within(const ModuleProfile& profile, const ModuleSet& set, int64_t most) {
  return profile.Allows(set) && profile.Highest(set) <= most;
}

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

// The least time that drops `excess` bytes at moment t. Bytes are counted in parts of the excess, those dropped rounded
// up.
double LeastAt(const ModuleProfile& profile, const std::vector<size_t>& after, size_t t, int64_t excess) {
  constexpr double kParts = 512;
  constexpr size_t kNeeded = static_cast<size_t>(kParts);
  const double unit = static_cast<double>(excess) / kParts;
  // Row c: the least time of calls c and later that drops so many parts.
  std::vector<std::vector<double>> least(profile.calls.size() + 1,
                                         std::vector<double>(kNeeded + 1, std::numeric_limits<double>::infinity()));
  least.back()[0] = 0;
  for (size_t c = profile.calls.size(); c-- > 0;) {
    const ProfiledCall& call = profile.calls[c];
    least[c] = least[c + 1];
    if (t < call.begin || t >= call.end || call.most_dropped <= 0) continue;
    const double parts = std::min(kParts, std::ceil(static_cast<double>(call.most_dropped) / unit));
    const size_t dropped = static_cast<size_t>(parts);
    for (size_t needed = 0; needed <= kNeeded; ++needed) {
      const double rest = least[after[c]][needed > dropped ? needed - dropped : 0];
      least[c][needed] = std::min(least[c][needed], rest + call.seconds);
    }
  }
  return least[0][kNeeded];
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
  // Where each call's subtree ends: whoever wraps a call has what is inside it.
  std::vector<size_t> after(profile.calls.size());
  for (size_t c = 0; c < after.size(); ++c) {
    after[c] = c + 1;
    const auto inside = [&](size_t other) {
      int around = static_cast<int>(other);
      while (around > static_cast<int>(c)) around = profile.calls[static_cast<size_t>(around)].around;
      return around == static_cast<int>(c);
    };
    while (after[c] < after.size() && inside(after[c])) ++after[c];
  }
  double least = 0;
  for (size_t t = 0; t < profile.levels.size(); ++t) {
    const int64_t excess = profile.levels[t] - most;
    if (excess <= 0) continue;
    const double seconds = LeastAt(profile, after, t, excess);
    if (std::isinf(seconds)) return std::nullopt;
    least = std::max(least, seconds);
  }
  return least;
}

}  // namespace vramplan
