#include "planner/solver/choose_modules.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "planner/solver/wrapped_modules.h"

namespace vramplan {
namespace {

// A chain of `count` blocks, each away while those behind it run, every second pair inside an outer module.
ModuleProfile RandomChain(int count, unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  ModuleProfile profile;
  const size_t moments = 2 * static_cast<size_t>(count) + 1;
  std::vector<int64_t> saved;
  for (int i = 0; i < count; ++i) saved.push_back(number(5, 60));
  profile.levels.resize(moments, 100);
  for (size_t i = 0; i < saved.size(); ++i) {
    for (size_t t = i + 1; t < moments - i; ++t) profile.levels[t] += saved[i];
  }
  const auto add = [&](int first, int last, int around) {
    ProfiledCall call;
    call.module = profile.modules.size();
    call.around = around;
    call.begin = static_cast<size_t>(last) + 1;
    call.end = call.again = moments - static_cast<size_t>(last) - 1;
    for (int i = first; i <= last; ++i) call.dropped += saved[static_cast<size_t>(i)];
    call.again_level = profile.levels[std::min(call.again, moments - 1)] + number(0, 5);
    call.most_dropped = call.dropped;
    profile.modules.push_back({"m" + std::to_string(profile.modules.size()), 0, {profile.calls.size()}});
    profile.calls.push_back(call);
    return static_cast<int>(profile.calls.size()) - 1;
  };
  for (int i = 0; i < count; i += 2) {
    const bool outer = i % 4 == 0 && i + 1 < count;
    const int around = outer ? add(i, i + 1, -1) : -1;
    for (int k = i; k < std::min(i + 2, count); ++k) {
      const auto inner = static_cast<size_t>(add(k, k, around));
      ProfiledCall& call = profile.calls[inner];
      call.seconds = profile.modules[call.module].seconds = number(1, 20);
      if (around < 0) continue;
      ProfiledCall& outer_call = profile.calls[static_cast<size_t>(around)];
      outer_call.seconds += call.seconds;
      profile.modules[outer_call.module].seconds += call.seconds;
    }
  }
  return profile;
}

// Nothing that must be alone is inside another one.
bool Allows(const ModuleProfile& profile, const ModuleSet& set) {
  for (const ProfiledCall& call : profile.calls) {
    if (!set[call.module] || !profile.modules[call.module].alone) continue;
    for (int around = call.around; around >= 0; around = profile.calls[static_cast<size_t>(around)].around) {
      if (set[profile.calls[static_cast<size_t>(around)].module]) return false;
    }
  }
  return true;
}

std::optional<double> Best(const ModuleProfile& profile, int64_t most) {
  std::optional<double> best;
  for (unsigned bits = 0; bits < 1U << profile.modules.size(); ++bits) {
    ModuleSet set = profile.None();
    for (size_t m = 0; m < set.size(); ++m) set[m] = (bits >> m & 1U) != 0;
    if (profile.Highest(set) <= most && (!best || profile.Seconds(set) < *best)) best = profile.Seconds(set);
  }
  return best;
}

TEST_CASE("levels: an inner call that is away inside an outer one does not count twice") {
  ModuleProfile profile;
  profile.levels = {5, 9, 12, 9, 5};
  profile.modules = {{"a", 2, {0}}, {"a.b", 1, {1}}};
  ProfiledCall outer, inner;
  outer.begin = 2, outer.end = outer.again = 3, outer.again_level = 9, outer.dropped = 7;
  inner.module = 1, inner.around = 0;
  inner.begin = 1, inner.end = inner.again = 4, inner.again_level = 6, inner.dropped = 3;
  profile.calls = {outer, inner};
  CHECK_EQ(profile.Levels({true, false}), std::vector<int64_t>{5, 9, 5, 9, 5});
  CHECK_EQ(profile.Levels({false, true}), std::vector<int64_t>{5, 6, 9, 6, 6});
  CHECK_EQ(profile.Levels({true, true}), std::vector<int64_t>{5, 6, 5, 6, 6});
}

TEST_CASE(
    "one module at a time gives the levels of the whole set, nested calls and calls that must be alone included") {
  std::mt19937 random(7);
  int conflicts = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    ModuleProfile profile = RandomChain(12, seed);
    // A third level of nesting, a module of two calls, and moments that several calls share.
    for (size_t c = 0; c + 1 < profile.calls.size(); ++c)
      if (profile.calls[c].around >= 0 && profile.calls[c + 1].around == profile.calls[c].around && seed % 2 == 0)
        profile.calls[c + 1].around = static_cast<int>(c);
    for (ProfiledCall& call : profile.calls) call.again -= call.again % 3 == 2 ? 1 : 0;
    profile.modules[1].calls.push_back(profile.modules.back().calls[0]);
    profile.calls[profile.modules.back().calls[0]].module = 1;
    profile.modules.pop_back();
    profile.modules[seed % profile.modules.size()].alone = true;
    const int64_t most = profile.Highest(profile.None()) * 3 / 4;
    WrappedModules wrapped(profile, most);
    for (int step = 0; step < 200; ++step) {
      wrapped.Toggle(random() % profile.modules.size());
      double excess = 0;
      for (const int64_t level : profile.Levels(wrapped.set()))
        excess += static_cast<double>(std::max<int64_t>(0, level - most));
      const bool allowed = Allows(profile, wrapped.set());
      conflicts += allowed ? 0 : 1;
      REQUIRE(wrapped.Within() == (allowed && excess == 0));
      REQUIRE(wrapped.Excess() == (allowed ? excess : std::numeric_limits<double>::infinity()));
    }
  }
  CHECK(conflicts > 100);
}

TEST_CASE(
    "against every subset: what is chosen keeps the level, and lies between the bound and a little above the best") {
  int same = 0, cases = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    const ModuleProfile profile = RandomChain(6 + static_cast<int>(seed % 3), seed);
    const int64_t highest = profile.Highest(profile.None());
    for (const int percent : {95, 85, 75, 65, 55}) {
      const int64_t most = highest * percent / 100;
      CAPTURE(seed);
      CAPTURE(percent);
      const std::optional<double> best = Best(profile, most), least = LeastSeconds(profile, most);
      const std::optional<ModuleSet> chosen = ChooseModules(profile, most);
      CHECK_EQ(chosen.has_value(), best.has_value());
      if (!best || !chosen) continue;
      CHECK_LE(profile.Highest(*chosen), most);
      REQUIRE(least.has_value());
      CHECK_LE(*least, *best + 1e-9);
      CHECK_GE(profile.Seconds(*chosen), *best - 1e-9);
      CHECK_LE(profile.Seconds(*chosen), *best * 1.25 + 1e-9);
      same += profile.Seconds(*chosen) <= *best + 1e-9 ? 1 : 0;
      ++cases;
    }
    CHECK_LE(profile.Highest(LowestModules(profile)), highest);
    // Inner modules that must be alone are never chosen inside a wrapped one.
    ModuleProfile alone = profile;
    for (const ProfiledCall& call : profile.calls) alone.modules[call.module].alone = call.around >= 0;
    for (const int percent : {80, 60}) {
      const std::optional<ModuleSet> chosen = ChooseModules(alone, highest * percent / 100);
      if (chosen) CHECK(Allows(alone, *chosen));
    }
    CHECK(Allows(alone, LowestModules(alone)));
    CHECK_FALSE(Allows(alone, ModuleSet(alone.modules.size(), true)));
  }
  CHECK_GE(cases, 100);
  CHECK_GE(same * 10, cases * 9);
}

}  // namespace
}  // namespace vramplan
