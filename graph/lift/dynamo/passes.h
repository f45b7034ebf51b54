// The passes of this folder: what the dynamo exporter does to a model. Each file begins with what it undoes.
#pragma once

#include <optional>

#include "graph/ir/graph.h"
#include "graph/layers/layers.h"

namespace vramplan {

// --- unused_signature.cc ---

// The graph without them; nothing where some operator names a parameter, or where the file lists none.
std::optional<Graph> WithoutUnusedSignature(const Graph& graph);

// --- module_calls.cc ---

void GatherModuleCalls(Layers* layers);

// --- single_joins.cc ---

// Puts a cat of one tensor in front of calls that do, behind the first layer of others of their class, what those do
// behind a cat.
void RestoreSingleJoins(Layers* layers);

}  // namespace vramplan
