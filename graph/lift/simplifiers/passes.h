// The passes of this folder: what tools that simplify do to a file. Each file begins with what it undoes.
#pragma once

#include <optional>

#include "graph/lift/passes.h"

namespace vramplan {

// --- fx_order.cc ---

// Nothing where the order is the exporter's, or where nodes hold graphs.
std::optional<GraphState> InCallOrder(const Graph& graph, const Shapes& shapes, Notes* notes);

// --- stored_fills.cc ---

// Such tensors are stored.
std::optional<GraphState> StoreFills(const Graph& graph, const Shapes& shapes, Notes* notes);

// --- merged_stored.cc ---

// Every module has stored tensors of its own again.
std::optional<GraphState> SeparateMergedStored(const Graph& graph, const Shapes& shapes, Notes* notes);

}  // namespace vramplan
