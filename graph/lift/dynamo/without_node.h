// What ran in the framework and left no node: the exporter's optimizer drops copies and joins of one. Only names in the text of other fx
// nodes are left:
//
//   linear_2(%clone_3)       behind a transpose     ->  contiguous(transpose) "clone_3"
//   conv2d_1(%cat)           data: conv2d           ->  cat([conv2d]) "cat"
#pragma once

#include <string>
#include <string_view>

#include "graph/lift/dynamo/folded.h"

namespace vramplan {

// "layer_norm_12" -> "layer_norm": torch.fx names a node after its operator and counts on (torch/fx/graph.py,
// _Namespace.create_name).
std::string OperatorOf(const std::string& name);

// The value called `name`, an operand of `user` that nothing in the file carries and that takes its data from `source`:
// the result of a layer that is added here, in front of `user`, or `source` itself.
ValueId LiftCallWithoutNode(const std::string& name, ValueId source, const FxSite& at);

// What a node inside a call computes its result from: the first operand that is not stored; invalid: there is none.
TensorId DataBehind(const Node& node, const Graph& graph);

}  // namespace vramplan
