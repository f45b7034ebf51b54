// The passes of this folder: what the lines of the model's own code say. Each file begins with what it undoes.
#pragma once

#include <string_view>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/layers/layers.h"
#include "graph/layers/source.h"

namespace vramplan {

// --- read_source.cc ---

// Empty when no node has a trace.
Source ReadSource(const Graph& graph);

// The innermost line in which a layer ran; null: the file does not say.
const SourceLine* LineOf(const Layers& layers, const Layer& layer);

// --- checkpointed.cc ---

// Fills `checkpointed`; needs `source`. Notes: "checkpoint-in-code", and "checkpoint-of-function" for what it cannot
// apply.
void ReadCheckpoints(Layers* layers, Notes* notes);

// What a line checkpoints, as it is written: "block" of "x = checkpoint(block, x)"; empty: nothing.
std::string_view CheckpointedIn(std::string_view line);

}  // namespace vramplan
