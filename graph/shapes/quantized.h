// What has no gradient: quantized graphs, whose weights are integers (ONNX's QLinear* and Q/DQ pairs, ONNX Runtime's
// own), and the forests and support vectors of classical models.
#pragma once

#include "graph/ir/graph.h"

namespace vramplan {

// The first node that makes or reads quantized numbers; null in a graph of floating numbers.
const Node* QuantizedNode(const Graph& graph);

// The first forest or support vector machine of ai.onnx.ml; null without one.
const Node* ClassicalNode(const Graph& graph);

}  // namespace vramplan
