// What ran in the framework and left no node: the exporter's optimizer drops copies and arithmetic that changes no
// number, and merges nodes that compute the same from the same (after initializers of equal contents became one).
// Only names in the text of other fx nodes are left:
//
//   linear_2(%clone_3)       behind a transpose     ->  contiguous(transpose) "clone_3"
//   linear_7(%silu_2)        data: silu             ->  silu(t) "silu_2" once more, in front of linear_7
//   linear_4(%layer_norm_1)  data: layer_norm       ->  layer_norm_1 with the parameters of the sibling that no fx
//                                                       node names
//   add_9(%mul_3)            data: embedding        ->  mul(embedding, 1.0) "mul_3"
//   conv2d_1(%cat)           data: conv2d           ->  cat([conv2d]) "cat"
#pragma once

#include <string>
#include <string_view>

#include "graph/lift/dynamo/folded.h"

namespace vramplan {

// "layer_norm_12" -> "layer_norm": torch.fx names a node after its operator and counts on (torch/fx/graph.py,
// _Namespace.create_name).
std::string OperatorOf(const std::string& name);

// add, sub, mul, div: with a number they leave a tensor's shape as it is.
bool IsArithmetic(std::string_view op);

// The value called `name`, an operand of `user` that nothing in the file carries and that takes its data from `source`:
// the result of a layer that is added here, in front of `user`, or `source` itself.
ValueId LiftCallWithoutNode(const std::string& name, ValueId source, const FxSite& at);

// A folded convolution lost the name of its operand, too. When `source` is a norm (and an activation behind it) of
// another block, and the block of the convolution's module has a norm whose parameters no fx node names, the block's
// own norm ran; adds it in front of `user` and gives its result, else `source`. `module`: that of the convolution.
ValueId LiftNormWithoutNode(const std::string& module, ValueId source, const FxSite& at);

// What a node inside a call computes its result from: a weight that it centres (weight - weight.mean(), merged with the
// same within a variance), else the first operand that is not stored; invalid when there is none.
TensorId DataBehind(const Node& node, const Graph& graph, const Shapes& shapes, const Signature& signature);

}  // namespace vramplan
