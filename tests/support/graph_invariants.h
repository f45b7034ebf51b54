// The invariants that graph/ir/graph.h promises of what Load returns, checked by code that shares nothing with Load.
#pragma once

#include <string>

#include "graph/ir/graph.h"

namespace vramplan {

// What is broken, in words; empty when everything holds. Subgraphs are checked too.
std::string BrokenInvariant(const Graph& graph);

}  // namespace vramplan
