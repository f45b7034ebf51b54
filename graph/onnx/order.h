// Puts the nodes of a graph in an order in which every input is made before it is read, as ONNX demands of a file and
// some writers forget.
#pragma once

#include "graph/base/result.h"
#include "graph/ir/graph.h"

namespace vramplan {

// Keeps the order of the file wherever it can: a graph that is in order is not touched; otherwise the earliest node
// that is ready comes next. What a node's subgraphs read from outside counts as its inputs. Error: a cycle, with the
// name of a node on it.
Status SortNodes(Graph* graph);

}  // namespace vramplan
