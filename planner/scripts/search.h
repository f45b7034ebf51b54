// SearchLargest: `run --largest`: the largest number with which a script runs on the card (largest_value.h),
// each try a whole run.
#pragma once

#include "planner/report/script_search.h"
#include "planner/scripts/runs.h"

namespace vramplan {

struct SearchedLargest {
  ScriptLargest largest;
  ScriptReport report;  // with the largest that runs; where none does, with the lowest
};

// `others`: the values of --vary. Errors: those of a run; kUsage, nothing in the command or the script reads the name.
Result<SearchedLargest> SearchLargest(const ScriptRuns& runs, const Script& script, const ScriptValues& others);

// Errors: kUsage, a name of --vary that is in no word of the command, and whose values make no difference.
Status CheckVaried(const Script& script, const std::vector<VariedRun>& runs);

}  // namespace vramplan
