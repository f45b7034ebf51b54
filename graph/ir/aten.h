// Calls of aten operators as nodes of a Graph: how files of torch.export are held (graph/pt2).
//
//   conv2d(x, weight, None, [2, 2], groups=4)
//     inputs      x, weight         "operands" {"0", "1"}: which argument each input is; a list has its number repeatedly
//     attributes  "3": [2, 2], "groups": 4
//
// A conversion says which method the code called, "called_as": "float" of x.float(), "to" of x.to(dtype): the operator is
// the same.
#pragma once

#include <string_view>

#include "graph/ir/graph.h"

namespace vramplan {

inline constexpr std::string_view kTorchDomain = "torch";
inline constexpr const char* kOperands = "operands";
inline constexpr const char* kCalledAs = "called_as";

// Whether the graph is of aten calls.
inline bool IsProgram(const Graph& graph) { return !graph.nodes.empty() && graph.nodes.front().domain == kTorchDomain; }

}  // namespace vramplan
