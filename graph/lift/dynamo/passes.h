// The passes of this folder: what the dynamo exporter does to a model. Each file begins with what it undoes.
#pragma once

#include <optional>

#include "graph/lift/passes.h"

namespace vramplan {

// --- unused_signature.cc ---

// The graph without them; nothing where some operator names a parameter, or where the file lists none.
std::optional<GraphState> WithoutUnusedSignature(const Graph& graph, const Shapes& shapes, Notes* notes);

// --- computed_constants.cc ---

void MakeComputedConstants(const Graph& graph, Layers* layers);

// --- module_calls.cc ---

void GatherModuleCalls(Layers* layers);

// --- repeated_calls.cc ---

void SplitRepeatedCalls(Layers* layers);

}  // namespace vramplan
