// Stored fills: weights that a file makes of a number instead of storing them, to be small.
//
//   ConstantOfShape([64, 3, 7, 7]) -> Conv's weight      the "light" models of ONNX's own tests
//
// PyTorch's torch.zeros(2, 3) is the same node and no weight.
#pragma once

#include <optional>

#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// The graph in which such tensors are stored; nothing when it has none. Ids stay what they are.
std::optional<Graph> StoreFills(const Graph& graph, const Shapes& shapes);

}  // namespace vramplan
