// Quantized graphs, whose weights are integers: ONNX's QLinear* and Q/DQ pairs, ONNX Runtime's own.
#pragma once

#include "graph/ir/graph.h"

namespace vramplan {

// The first node that makes or reads quantized numbers; null in a graph of floating numbers.
const Node* QuantizedNode(const Graph& graph);

}  // namespace vramplan
