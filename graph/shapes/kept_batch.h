// A file exported with a fixed batch has it re-opened by Bind. Where the graph then contradicts itself (it squeezes the
// batch away, or broadcasts it with another number), the file is right and the batch stays what it was.
#pragma once

#include "graph/shapes/infer.h"

namespace vramplan {

// Infer; when that fails with a re-opened batch that nobody asked for, once more with the batch of the file, a warning
// "kept-batch" that names the node, and `binding` as it then is.
Result<Shapes> InferOrKeepBatch(const Graph& graph, const BindOptions& options, Binding* binding, Notes* notes);

}  // namespace vramplan
