// GivenGraph: the file as ONNX Runtime runs it: a layer a node, in its order, not lifted to what a framework once ran.
//
//   weights = Transpose(w)        a node of stored tensors only is folded: its output is a weight, w is gone
//   Shape(x), Gather, Concat      on the host: no layer, and their outputs are no device memory
//   Add(Conv_a(x), Conv_b(x))     Conv_b runs first: the order is a depth-first uses up from the outputs
//
// Roles: kParameter is an initializer (or a folded one) that a kernel reads on the device, kConstant one that stays on
// the host (the shape of a Reshape), kInput what the caller feeds.
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// Layer::op is ONNX's name, with the domain where it is not ONNX's own ("com.microsoft.Gelu").
Layers GivenGraph(const Graph& graph, const Shapes& shapes, Notes* notes);

// The order in which ONNX Runtime runs the nodes (GraphViewer's constructor and Graph::ReverseDFSFrom,
// core/graph/graph_viewer.cc): a uses up from the leaves, of two producers the later one in the file first.
std::vector<NodeId> OrderOfExecution(const Graph& graph);

}  // namespace vramplan
