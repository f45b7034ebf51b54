// ChooseCalls: which operator calls of checkpointed modules to save, at the least time: a knapsack with one constraint
// a moment, over the step with the modules wrapped and nothing saved.
//
//   requested |      __   room   addmm 0 of h.3 keeps 9 MB from the end of the module's forward to its second forward,
//             | __--    --__     and saves 0.4 ms; gelu 0 keeps 38 MB for 0.1 ms: the first is taken first
//
// A module whose calls are mostly saved may as well not be wrapped. Sizes are requested bytes; that the choice fits is
// replayed (fit_operators.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/solver/module_profile.h"

namespace vramplan {

struct WrappedModule {
  std::string path;
  double seconds = 0;                           // of running it again, nothing saved
  int64_t dropped = 0;                          // bytes that wrapping it drops
  std::vector<std::pair<size_t, size_t>> away;  // moments, [begin, end) of each of its calls
};

struct CallToSave {
  size_t module = 0;  // index into CallProfile::modules
  SavedCall call;
  int64_t bytes = 0;   // of one call of the module
  double seconds = 0;  // that it does not take, in all of them
};

struct CallProfile {
  std::vector<int64_t> levels;
  std::vector<WrappedModule> modules;
  std::vector<CallToSave> calls;
  double seconds = 0;  // of everything that runs again
};

// `timeline`: a training step with the modules of `profile` in `paths` wrapped, none inside another.
CallProfile ProfileCalls(const Timeline& timeline, const Layers& layers, const StepTime& time,
                         const ModuleProfile& profile);

struct CallChoice {
  std::vector<std::string> checkpoint;
  std::vector<SavedCall> saved;
  double seconds = 0;  // of what still runs again
};

// All levels at most `most`. Nothing: they exceed it even if no call is saved.
std::optional<CallChoice> ChooseCalls(const CallProfile& profile, int64_t most);

// A lower bound for every choice of modules and calls: the bytes above `most` must be made again by some operators, and
// the operators with the least time a byte take this long. `timeline`: the step without checkpoints.
double LeastSecondsOfAny(const Timeline& timeline, const Layers& layers, const StepTime& time, int64_t most);

}  // namespace vramplan
