// GrowthOf: what a script leaves on the card more after each step, and the step in which the card is full.
//
//   step  left after it
//   1       281 MiB        the first step makes the optimizer's states: that is not growth
//   2       537 MiB        256 MiB of this step are still alive at the end of step 3, allocated at train.py:6
//   3       793 MiB        its own 256 MiB may be a variable of the loop, which the next step frees
//
// Told only if both agree: the counters rise from step to step and never fall, and blocks of earlier steps are still
// alive, as many bytes as the counters say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/report/script.h"

namespace vramplan {

struct GrownLine {
  CodePlace place;  // the script's own line
  Bytes each;       // a step
  bool operator==(const GrownLine&) const = default;
};

struct ScriptGrowth {
  Bytes each;                    // left more after each step, of allocated bytes
  std::vector<GrownLine> lines;  // the largest first; empty: the history is lost
  std::optional<int64_t> full;   // the step that does not fit; nothing: no card was named, or it did not come to that
  bool operator==(const ScriptGrowth&) const = default;
};

std::optional<ScriptGrowth> GrowthOf(const ScriptReport& report);

// "after each step 256.00 MiB more is left, allocated at leak_list.py:7: full in step 51"
std::string GrowthText(const ScriptGrowth& growth);

}  // namespace vramplan
