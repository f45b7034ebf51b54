// ReadSource: the stack traces that the dynamo exporter writes beside every node (graph/layers/source.h).
#pragma once

#include "graph/ir/graph.h"
#include "graph/layers/source.h"

namespace vramplan {

// Empty when no node has a trace.
Source ReadSource(const Graph& graph);

}  // namespace vramplan
