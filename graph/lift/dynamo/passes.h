// The passes of this folder: what the dynamo exporter does to a model. Each file begins with what it undoes.
#pragma once

#include <optional>

#include "graph/lift/passes.h"

namespace vramplan {

// --- computed_constants.cc ---

void MakeComputedConstants(const Graph& graph, Layers* layers);

// --- module_calls.cc ---

void GatherModuleCalls(Layers* layers);

}  // namespace vramplan
