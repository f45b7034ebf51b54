// Liveness of data: which nodes did work on the device, and which only computed sizes on the host.
//
//   x -> Shape -> Gather -> Concat -> Reshape[1]     host: the framework did this with Python integers
//   x -> Reshape[0] -> MatMul -> output              live
//   x -> Shape -> Cast -> Sqrt -> Div(y, .) -> ...   the chain is host (a Python number), Div is live
//   x -> Shape -> Range -> Gather[1] (embedding)     Range is live (torch.arange), Shape is host
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// True where the input says a size, an axis or another number that the framework keeps on the host (Reshape[1],
// Slice[1..4], Resize[1..3], Clip[1..2], Range[0..2], Dropout[1..2] ...), or where only the input's shape is read
// (Shape, Size, EyeLike).
bool IsShapeOperand(const Node& node, size_t input);

// Operators in which exporters write arithmetic of sizes and scalars; what makes tensors (Range, ConstantOfShape,
// Expand) is none.
bool IsSizeArithmetic(const std::string& op);

// By node: made of sizes and stored numbers only, by arithmetic that starts at a Shape or Size. Range, ConstantOfShape
// and Expand make device tensors and are never host.
std::vector<bool> HostNodes(const Graph& graph);

// By node: a graph output needs its data, and it is not a host node.
std::vector<bool> LiveNodes(const Graph& graph);

// A tensor without axes that no device made: scalar_tensor(sym_size), a number of the host's.
bool IsHostNumber(const Graph& graph, const Shapes& shapes, TensorId tensor, const std::vector<bool>& live);

// The graph's input that a tensor is, or a slice of it, seen under other sizes or in another type; invalid when there is
// none.
TensorId NumbersBehind(const Graph& graph, TensorId tensor);

}  // namespace vramplan
