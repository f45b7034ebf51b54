// ModuleProfile: what wrapping modules in checkpoints would do to the steady step, read off the timeline without them.
//
//   requested |        ____          level 0 .. n: highest between two moments at which a module's forward ends or its
//             |    ___/    \___      backward begins
//             | __/            \_
//             +-[--a--]-----------   call a is away from the end of its forward to the start of its backward: what it
//                  [b]               saves is not there then, its arguments are; before its backward all of it is
//                                    there again, and what its forward has beside that ("again")
//
// Calls nest, and an outer call is away within the time that its inner calls are away. A model of the step, near enough
// to choose by: that the choice fits is replayed (fit_modules.h). Sizes are requested bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/layers/layers.h"
#include "planner/solver/time_model.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// One call of a module that may be wrapped.
struct ProfiledCall {
  size_t module = 0;          // index into ModuleProfile::modules
  int around = -1;            // the innermost call around it
  size_t begin = 0, end = 0;  // away in [begin, end)
  size_t again = 0;           // the moment of its second forward
  int64_t again_level = 0;
  int64_t dropped = 0;       // bytes that are not there while it is away
  int64_t most_dropped = 0;  // the same without subtracting arguments: no other choice makes it more
  double seconds = 0;        // of running it again
};

struct ProfiledModule {
  std::string path;
  double seconds = 0;  // of running it again
  std::vector<size_t> calls;
  bool alone = false;  // not inside another one that is wrapped
};

// Which modules are wrapped, by index.
using ModuleSet = std::vector<bool>;

struct ModuleProfile {
  std::vector<int64_t> levels;
  std::vector<ProfiledModule> modules;  // in order of execution, outer ones first
  std::vector<ProfiledCall> calls;

  // Of each call, behind the last one inside it. Those stand behind it, one after another.
  std::vector<size_t> SubtreeEnds() const;
  ModuleSet None() const { return ModuleSet(modules.size()); }
  double Seconds(const ModuleSet& set) const;
  // The levels with these modules wrapped.
  std::vector<int64_t> Levels(const ModuleSet& set) const;
  int64_t Highest(const ModuleSet& set) const;
  std::vector<std::string> Paths(const ModuleSet& set) const;
};

// `timeline`: a training step without checkpoints.
ModuleProfile ProfileModules(const Timeline& timeline, const Layers& layers, const StepTime& time);

}  // namespace vramplan
