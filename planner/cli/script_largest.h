// SearchLargest: `run --largest`: the largest number with which a script runs on the card (planner/cli/largest_value.h),
// each try a whole run.
#pragma once

#include "planner/cli/options.h"
#include "planner/cli/script_runs.h"
#include "planner/report/script_search.h"

namespace vramplan {

struct SearchedLargest {
  ScriptLargest largest;
  ScriptReport report;  // with the largest that runs; where none does, with the lowest
};

// `others`: the values of --vary. Errors: those of a run; kUsage, nothing in the command or the script reads the name.
Result<SearchedLargest> SearchLargest(const ScriptRuns& runs, const Options& options, const ScriptValues& others);

// Errors: kUsage, a name of --vary that is in no word of the command, and whose values make no difference.
Status CheckVaried(const Options& options, const std::vector<VariedRun>& runs);

// --write-back: the number into the file of --largest-in, and nothing else of it changed.
Status WriteBack(const ScriptWishes& wishes, int64_t largest);

}  // namespace vramplan
