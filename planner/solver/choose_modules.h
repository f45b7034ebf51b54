// ChooseModules: which modules to wrap so that the profile stays below a level, at the least time: a covering knapsack
// with one constraint a moment.
//
//   levels 5 9 6, to stay within 7      b: away in moments 0-1, drops 3, 1 ms      c: in moment 1, drops 2, 0.4 ms
//                                       {c} at 0.4 ms; no choice takes less than 0.4 ms: proved
#pragma once

#include <optional>

#include "planner/solver/module_profile.h"

namespace vramplan {

// The cheapest set found whose levels are all at most `most`: greedy from three starts, then every module once put in
// and what it makes superfluous taken out. Nothing: no set found.
std::optional<ModuleSet> ChooseModules(const ModuleProfile& profile, int64_t most);

// The set found with the lowest highest level.
ModuleSet LowestModules(const ModuleProfile& profile);

// No choice of modules takes less time than this and keeps all levels at most `most`: at each moment by itself, the
// cheapest modules that then drop enough, outer ones instead of inner ones (a knapsack along the tree of calls, bytes
// in 512ths of what is too much, rounded so that the bound holds). Nothing: no choice keeps them.
std::optional<double> LeastSeconds(const ModuleProfile& profile, int64_t most);

}  // namespace vramplan
