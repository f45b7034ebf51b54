#include "planner/solver/choose_calls.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace vramplan {
namespace {

// Three modules, nested in time as a chain's are; each may save three calls.
CallProfile RandomProfile(unsigned seed) {
  std::mt19937 random(seed);
  const auto number = [&](int low, int high) {
    return low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1));
  };
  CallProfile profile;
  profile.levels = {50, 60, 70, 90, 70, 60, 50};
  for (size_t m = 0; m < 3; ++m) {
    WrappedModule module{"m" + std::to_string(m), 0, 0, {{m + 1, 6 - m}}};
    for (int occurrence = 0; occurrence < 3; ++occurrence) {
      const CallToSave call{
          m, {module.path, "aten.mm.default", occurrence}, number(2, 12), static_cast<double>(number(1, 9))};
      module.seconds += call.seconds;
      module.dropped += call.bytes;
      profile.calls.push_back(call);
    }
    module.dropped += number(1, 9);
    module.seconds += number(0, 3);
    profile.seconds += module.seconds;
    profile.modules.push_back(module);
  }
  return profile;
}

// What is there while a choice holds; -1: too much.
double SecondsOf(const CallProfile& profile, unsigned calls, unsigned unwrapped, int64_t most) {
  std::vector<int64_t> levels = profile.levels;
  double seconds = profile.seconds;
  for (size_t m = 0; m < profile.modules.size(); ++m) {
    const WrappedModule& module = profile.modules[m];
    int64_t kept = (unwrapped >> m & 1U) != 0 ? module.dropped : 0;
    if (kept > 0) seconds -= module.seconds;
    for (size_t c = 0; c < profile.calls.size(); ++c) {
      if (profile.calls[c].module != m || (calls >> c & 1U) == 0) continue;
      if ((unwrapped >> m & 1U) != 0) return -1;
      kept += profile.calls[c].bytes;
      seconds -= profile.calls[c].seconds;
    }
    for (size_t t = module.away[0].first; t < module.away[0].second; ++t) levels[t] += kept;
  }
  return *std::max_element(levels.begin(), levels.end()) <= most ? seconds : -1;
}

TEST_CASE("against every choice there is: within the level, and seldom far from the least time") {
  int best = 0;
  constexpr int kCases = 60;
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    const CallProfile profile = RandomProfile(seed);
    const int64_t most = 95 + static_cast<int64_t>(seed % 5) * 8;
    const std::optional<CallChoice> choice = ChooseCalls(profile, most);
    REQUIRE(choice);
    unsigned calls = 0, unwrapped = 0b111;
    for (size_t m = 0; m < profile.modules.size(); ++m) {
      for (const std::string& path : choice->checkpoint) {
        if (path == profile.modules[m].path) unwrapped &= ~(1U << m);
      }
    }
    for (size_t c = 0; c < profile.calls.size(); ++c) {
      for (const SavedCall& call : choice->saved) {
        if (call == profile.calls[c].call) calls |= 1U << c;
      }
    }
    const double seconds = SecondsOf(profile, calls, unwrapped, most);
    CHECK(seconds == doctest::Approx(choice->seconds));
    double least = profile.seconds;
    for (unsigned u = 0; u < 8; ++u) {
      for (unsigned s = 0; s < 512; ++s) {
        const double other = SecondsOf(profile, s, u, most);
        if (other >= 0) least = std::min(least, other);
      }
    }
    CHECK(seconds >= least - 1e-9);
    CHECK(seconds <= least + 0.35 * profile.seconds);
    best += seconds <= least + 1e-9 ? 1 : 0;
  }
  CHECK(best >= kCases / 4);
}

TEST_CASE("a step that is too high with nothing saved has no choice") {
  CHECK_FALSE(ChooseCalls(RandomProfile(1), 89));
  CHECK(ChooseCalls(RandomProfile(1), 90)->saved.empty());
}

}  // namespace
}  // namespace vramplan
