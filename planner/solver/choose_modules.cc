#include "planner/solver/choose_modules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "planner/solver/wrapped_modules.h"

namespace vramplan {
namespace {

constexpr int kImprovements = 12;  // rounds; mostly two or three change something
// How much a module's time counts when the next one is chosen: bytes a second, bytes alone, and between.
constexpr double kExponents[] = {1.0, 0.5, 0.0};

// Wraps one module after another until no level is above `most`; nothing: there is no such set on this way. What a module
// takes from the excess shrinks while others are wrapped, so that a score which leads although it is an older one is asked
// again, and the others are not.
std::optional<WrappedModules> Greedy(const ModuleProfile& profile, int64_t most, double exponent) {
  WrappedModules wrapped(profile, most);
  struct Candidate {
    double score;
    size_t module, scored_at;  // how many were wrapped then
    bool operator<(const Candidate& other) const {
      return score != other.score ? score < other.score : module > other.module;
    }
  };
  size_t count = 0;
  std::vector<Candidate> scored;
  const auto score = [&](size_t m) {
    const double excess = wrapped.Excess();
    wrapped.Toggle(m);
    const double left = wrapped.Excess();
    wrapped.Toggle(m);
    const double found = (excess - left) / std::pow(std::max(profile.modules[m].seconds, 1e-12), exponent);
    if (found <= 0) return;
    scored.push_back({found, m, count});
    std::push_heap(scored.begin(), scored.end());
  };
  if (wrapped.Excess() > 0) {
    for (size_t m = 0; m < profile.modules.size(); ++m) score(m);
  }
  while (wrapped.Excess() > 0) {
    if (scored.empty()) return std::nullopt;
    std::pop_heap(scored.begin(), scored.end());
    const Candidate best = scored.back();
    scored.pop_back();
    if (best.scored_at != count) {
      score(best.module);
      continue;
    }
    wrapped.Toggle(best.module);
    ++count;
  }
  return wrapped;
}

// The modules, the dearest first.
std::vector<size_t> DearestFirst(const ModuleProfile& profile) {
  std::vector<size_t> order(profile.modules.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return profile.modules[a].seconds > profile.modules[b].seconds; });
  return order;
}

// Takes out what is not needed, in that order; `keep` stays.
void Prune(const std::vector<size_t>& order, size_t keep, WrappedModules* wrapped) {
  for (const size_t m : order) {
    if (!wrapped->set()[m] || m == keep) continue;
    wrapped->Toggle(m);
    if (!wrapped->Within()) wrapped->Toggle(m);
  }
}

void Improve(const ModuleProfile& profile, const std::vector<size_t>& order, WrappedModules* wrapped) {
  for (int round = 0; round < kImprovements; ++round) {
    bool better = false;
    for (size_t m = 0; m < profile.modules.size(); ++m) {
      if (wrapped->set()[m]) continue;
      const ModuleSet before = wrapped->set();
      wrapped->Toggle(m);
      if (wrapped->Within()) Prune(order, m, wrapped);
      if (wrapped->Within() && profile.Seconds(wrapped->set()) < profile.Seconds(before) * (1 - 1e-9)) {
        better = true;
        continue;
      }
      for (size_t other = 0; other < before.size(); ++other)
        if (wrapped->set()[other] != before[other]) wrapped->Toggle(other);
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
  const std::vector<size_t> order = DearestFirst(profile);
  std::optional<ModuleSet> best;
  for (const double exponent : kExponents) {
    std::optional<WrappedModules> wrapped = Greedy(profile, most, exponent);
    if (!wrapped) continue;
    Prune(order, profile.modules.size(), &*wrapped);
    Improve(profile, order, &*wrapped);
    if (!best || profile.Seconds(wrapped->set()) < profile.Seconds(*best)) best = wrapped->set();
  }
  return best;
}

ModuleSet LowestModules(const ModuleProfile& profile) {
  const std::vector<size_t> order = DearestFirst(profile);
  ModuleSet best = profile.None();
  int64_t fails = 0, fits = profile.Highest(best);
  for (int round = 0; round < 12 && fits - fails > fits / 256; ++round) {
    const int64_t middle = fails + (fits - fails) / 2;
    std::optional<WrappedModules> wrapped;
    for (const double exponent : kExponents) {
      if (!wrapped) wrapped = Greedy(profile, middle, exponent);
    }
    if (!wrapped) {
      fails = middle;
      continue;
    }
    Prune(order, profile.modules.size(), &*wrapped);
    best = wrapped->set();
    fits = std::min(middle, profile.Highest(best));
  }
  return best;
}

std::optional<double> LeastSeconds(const ModuleProfile& profile, int64_t most) {
  const std::vector<size_t> after = profile.SubtreeEnds();  // whoever wraps a call has what is inside it
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
