// Recorded: fit and plan about the run of a script that `vramplan run --record` wrote, instead of a model's file.
#pragma once

#include <string>

#include "planner/cli/verbs.h"
#include "planner/record/record.h"

namespace vramplan {

Result<Record> ReadRecordFile(const std::string& path);
// The answer of the verb, fit or plan. Errors: the file cannot be read; an option about a model's step, which is
// recorded and cannot be asked for.
Result<Outcome> RunRecorded(const Options& options, const Style& style, Probe* machine);

}  // namespace vramplan
