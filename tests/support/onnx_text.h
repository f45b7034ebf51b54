// Graphs written as text inside a test: the syntax of onnx::OnnxParser (ONNX 1.12), and four things that it lacks.
//
//   const Graph graph = GraphFromText(R"(
//     # signature: p_fc_weight: PARAMETER target='fc.weight'
//     agraph (float[batch, 3] x) => (float[batch, 10] y) <float[10, 3] `fc.weight`, int64[1] axes = {1}> {
//       h = Gemm <transB = 1> (x, `fc.weight`)
//         # name: /fc/Gemm
//         # fx_node: %linear : [num_users=1] = call_function[target=torch.ops.aten.linear.default](args = (%x,
//         %p_fc_weight), kwargs = {})
//       y = Relu (h)
//     })");
//
// - The text is a graph; a model of IR version 8 and opset 17 is put around it unless it begins with a model's own
// "<ir_version: 8, ...>".
// - `any.name/at:all` between backticks is one name.
// - A value declared in <...> that no node makes and that has no value is a weight: an initializer whose bytes are in
//   another file.
// - A comment "# key: text" below a node belongs to the node of the line above. Keys: name, fx_node, name_scopes,
//   class_hierarchy, rule_name, or any metadata key written out ("pkg.x.y"). "# signature: text" above the first node
//   adds a line to the graph signature.
//
// A node begins on a line of its own, with its first output. Wrong text ends the test with the parser's message.
#pragma once

#include <string>
#include <string_view>

#include "graph/ir/graph.h"

namespace vramplan {

// The serialized ModelProto.
std::string OnnxBytes(std::string_view text);

// What Load makes of it; the file is called "test.onnx". A note or an error ends the test.
Graph GraphFromText(std::string_view text);

// The tensor or node of this name; ends the test when there is none.
TensorId TensorNamed(const Graph& graph, std::string_view name);
NodeId NodeNamed(const Graph& graph, std::string_view name);

}  // namespace vramplan
