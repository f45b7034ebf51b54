// A script's run with each of the values that are asked about (--vary, --gpus, --largest), and with each change (--try).
#pragma once

#include <vector>

#include "graph/base/result.h"
#include "planner/report/script_search.h"
#include "planner/scripts/runs.h"
#include "planner/scripts/script.h"
#include "planner/scripts/values.h"

namespace vramplan {

// Each value of --vary with each of the others, the last one changing fastest; the number of cards before them.
std::vector<ScriptValues> Combinations(const ScriptWishes& wishes);

// The run with these values, or of --largest the search for the largest number beside them.
Result<VariedRun> RunWith(const ScriptRuns& runs, const Script& script, const ScriptValues& values);

// The script once more with each change. One that fails with a change, but not as it is, is told by its error.
std::vector<ScriptTried> Try(const ScriptRuns& runs, const ScriptValues& values);

}  // namespace vramplan
