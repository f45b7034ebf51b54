// The optimizer that a file's facts name (docs/facts.md) is the default of --optimizer.
#pragma once

#include <optional>

#include "graph/ir/facts.h"
#include "planner/cli/options.h"

namespace vramplan {

// Before the verb runs. Does nothing where --optimizer is given, the file says none, or the step does not train. Note
// "unknown-optimizer": the file names one that vramplan does not know.
void TakeOptimizerOfFile(Options* options);

// A pipe is read once, with the model: note "optimizer-of-pipe" where its facts name an optimizer that was not taken.
void NoteOptimizerOfPipe(const Options& options, const std::optional<Facts>& facts, Notes* notes);

}  // namespace vramplan
