// A model that is named instead of a file (graph/architectures): what it says of the step, and its graph.
#pragma once

#include "graph/ir/graph.h"
#include "planner/cli/options.h"

namespace vramplan {

// Before the verb runs: the model of options->file, if that is a name, and the type of its weights as the default of
// --precision. Errors: those of FindNamed.
Status TakeNamed(Options* options);

// The graph of the file, or of the named model with the lengths of --dim, in the mode and precision of `options`. Usual
// lengths that it takes are put into `bind`.
Result<Graph> GraphOf(const Options& options, BindOptions* bind, Notes* notes);

}  // namespace vramplan
