// What is left of the dynamo exporter's words in a file whose metadata a tool dropped: names. The result of an fx node
// is called as the node ("linear_3"), and the ONNX node that makes it "node_linear_3"; what is made on the way to it is
// "val_93", by "node_MatMul_91" (torch/onnx/_internal/exporter/_core.py 2.10, _add_nodes_from_fx_graph).
//
//   Add(matmul, "unsqueeze" [1, 3, 49, 49])   a stored tensor called as an fx node is what the export folded
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/graph.h"

namespace vramplan {

// By the dynamo exporter, and without the metadata in which it says more.
bool HasFxNames(const Graph& graph);

// "linear" of "linear_3", when that is a name that an fx node of an aten operator gets; empty for others ("val_93",
// "layer1.0.weight").
std::string FxOperatorOf(const std::string& name);

// Whether a module of this path is what code calls the layer behind a model's last: "lm_head",
// "cls.predictions.decoder". A table of embeddings that is found there is tied to it.
bool IsOutputLayer(const std::string& module);

}  // namespace vramplan
