// What is left of the dynamo exporter's words in a file whose metadata a tool dropped: names. The result of an fx node
// is called as the node ("linear_3"), and the ONNX node that makes it "node_linear_3"; what is made on the way to it is
// "val_93", by "node_MatMul_91" (torch/onnx/_internal/exporter/_core.py 2.10, _add_nodes_from_fx_graph).
//
//   MatMul "node_linear_3"   -> "linear_3"    a linear without a bias
//   MatMul "node_MatMul_91"  -> "linear_3"    onnxslim took out what stood behind it and let it have the name: the sum
//                                             with a bias of zeros
//   MatMul "node_MatMul_91"  -> "val_93"      onnxsim did the same and kept the name
//   Add(matmul, "unsqueeze" [1, 3, 49, 49])   a stored tensor called as an fx node is what the export folded
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/graph.h"

namespace vramplan {

// By the dynamo exporter, and without the metadata in which it says more.
bool HasFxNames(const Graph& graph);

// "linear" of "linear_3", when that is a name that an fx node of an aten operator gets; empty for others ("val_93",
// "layer1.0.weight").
std::string FxOperatorOf(const std::string& name);

// The last node of the fx node that this one belongs to has gone. Only where HasFxNames.
bool LostLastNode(const Graph& graph, NodeId node);

// Whether a module of this path is what code calls the layer behind a model's last: "lm_head",
// "cls.predictions.decoder". A table of embeddings that is found there is tied to it.
bool IsOutputLayer(const std::string& module);

// --- fx_scopes.cc ---

// By node, as scopes of the TorchScript exporter are written: "/features.1/features.1.0/attn/qkv".
std::vector<std::string> FxScopes(const Graph& graph);

}  // namespace vramplan
