// The optimizer that a file's facts name (docs/facts.md) is the default of --optimizer.
#pragma once

#include "planner/cli/options.h"

namespace vramplan {

// Before the verb runs. Does nothing where --optimizer is given, the file says none, or the step does not train. Note
// "unknown-optimizer": the file names one that vramplan does not know.
void TakeOptimizerOfFile(Options* options);

}  // namespace vramplan
