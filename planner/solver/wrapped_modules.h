// WrappedModules: the levels of a ModuleProfile under a set of wrapped modules that changes by one module at a time,
// which is what a search does. The same as ModuleProfile::Levels of the set, without going through all calls again.
//
//   WrappedModules wrapped(profile, most);
//   wrapped.Toggle(3);                        module 3 is wrapped now
//   if (wrapped.Within()) ...                 no level is above `most`
//   wrapped.Toggle(3);                        it is not any more
//
// A toggle takes the moments while the module's calls are away, and the calls inside them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "planner/solver/module_profile.h"

namespace vramplan {

class WrappedModules {
 public:
  // None is wrapped. `most`: bytes. The profile outlives it.
  WrappedModules(const ModuleProfile& profile, int64_t most);

  const ModuleSet& set() const { return set_; }
  void Toggle(size_t module);
  // The bytes above `most`, summed over the moments; infinite where something that must be alone is inside another one.
  double Excess() const {
    return conflicts_ > 0 ? std::numeric_limits<double>::infinity() : static_cast<double>(excess_);
  }
  bool Within() const { return conflicts_ == 0 && excess_ == 0; }

 private:
  // Moments that lie side by side. Most of them are together above `most` or below it, so that what is added to all
  // need not be added to each.
  struct Block {
    int64_t pending = 0;        // what its moments still lack
    int64_t low = 0, high = 0;  // none of them is lower or higher, with what is pending
  };
  static constexpr size_t kMomentsOfBlock = 32;

  void ToggleCall(size_t call);
  // Adds so many bytes in [from, to); takes them away in [to, from).
  void AddBetween(size_t from, size_t to, int64_t bytes);
  // The same within one block, moment by moment.
  void AddToMoments(size_t block, size_t from, size_t to, int64_t bytes);
  // What a wrapped call saves while a wrapped one around it is away counts there.
  void AddOverlap(size_t call, size_t outer, int64_t sign);
  void SetAgain(size_t moment);

  const ModuleProfile* profile_;
  std::vector<size_t> subtree_end_;            // of each call: behind the last one inside it
  std::vector<std::vector<size_t>> again_at_;  // of each moment: the calls that run again there
  ModuleSet set_;
  std::vector<bool> wrapped_;   // by call
  std::vector<int> nearest_;    // of a wrapped call, the innermost wrapped one around it; -1: none
  std::vector<int64_t> base_;   // of each moment: its level, or that of the second forwards there
  std::vector<int64_t> above_;  // of each moment: its level now, less `most` and what is pending
  std::vector<Block> blocks_;
  int64_t excess_ = 0;
  int conflicts_ = 0;  // pairs of wrapped calls, one of which must be alone and is inside the other
};

}  // namespace vramplan
