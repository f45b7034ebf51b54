// The passes of this folder: what tools that simplify do to a file. Each file begins with what it undoes.
#pragma once

#include <optional>

#include "graph/lift/passes.h"

namespace vramplan {

// --- stored_fills.cc ---

// Such tensors are stored.
std::optional<GraphState> StoreFills(const Graph& graph, const Shapes& shapes, Notes* notes);

}  // namespace vramplan
