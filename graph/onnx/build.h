// A GraphProto, read in place, becomes a Graph: names become ids, Constant nodes become stored tensors, calls of local
// functions become their bodies.
//
// Subgraphs (If, Loop, Scan) are Graphs of their own in the node's attributes. A name that a subgraph reads from
// outside is a tensor of the subgraph with Tensor::outer set to the id in the graph around it, at every level in
// between:
//
//   main:         x(0)  y = If(cond) { then: z = Relu(x) }
//   then-branch:  x     {outer = 0, no producer, not among its inputs}, z {producer = 0}
#pragma once

#include <string_view>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/ir/graph.h"

namespace vramplan {

// `model` is a compact ModelProto; `graph` is what counts as its graph. Errors have no subject yet; Load puts the file
// there.
Result<Graph> BuildGraph(std::string_view model, std::string_view graph, Notes* notes);

}  // namespace vramplan
