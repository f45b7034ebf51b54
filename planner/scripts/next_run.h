// NextOf: what a script needs that ran out of memory, by a second run on a card that is never full. A run that was
// refused memory cannot go on as one that was not: PyTorch gave its cache back before it failed.
#pragma once

#include <optional>

#include "planner/answers/question.h"
#include "planner/scripts/runs.h"

namespace vramplan {

// `failed`: the report of the run with these values. Nothing: it fits, took too long to be run again, or fails there.
std::optional<ScriptNext> NextOf(const ScriptRuns& runs, const Question& question, const Script& script,
                                 const ScriptValues& values, const ScriptReport& failed);

}  // namespace vramplan
