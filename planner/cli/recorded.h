// Recorded: fit and plan about the run of a script that `vramplan run --record` wrote, instead of a model's file.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "planner/cli/verbs.h"
#include "planner/record/record.h"
#include "planner/report/verdict.h"

namespace vramplan {

Result<Record> ReadRecordFile(const std::string& path);
// "GeForce RTX 3090 (--gpu rtx-3090)": the smallest card on which the verdict is not kDoesNotFit, of those that the
// question is about, or of all.
std::optional<std::string> SmallestThatHolds(const Options& options,
                                             const std::function<Verdict(const Device&)>& verdict);
// The answer of the verb, fit or plan. Errors: the file cannot be read; an option about a model's step, which is
// recorded and cannot be asked for.
Result<Outcome> RunRecorded(const Options& options, const Style& style, Probe* machine);

}  // namespace vramplan
