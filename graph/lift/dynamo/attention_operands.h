// Operands of a scaled_dot_product_attention that the exporter decomposed, by the part they play: the exporter drops
// clones and contiguous calls, so the names in the fx text are gone, and the order in which the nodes read says
// nothing.
//
//   MatMul(Mul(q, s), Mul(Transpose(k), s)) -> Add(mask) -> Softmax -> MatMul(., v)     q, k, v, mask
#pragma once

#include <array>
#include <string>
#include <vector>

#include "graph/ir/graph.h"
#include "graph/lift/dynamo/folded.h"

namespace vramplan {

// Query, key, value, mask: tensors made outside of `nodes`; invalid where the nodes do not say.
std::array<TensorId, 4> AttentionOperands(const Graph& graph, const std::vector<NodeId>& nodes);

// nn.MultiheadAttention makes [N * heads, length, width] of each operand and views it as [N, heads, length, width] for
// the call (torch/nn/functional.py, multi_head_attention_forward, PyTorch 2.10). The exporter turns keys by way of three
// axes (onnxscript 0.7, torch_lib/ops/nn.py, key_squeezed), and its optimizer merges that reshape with the view, so that
// the call seems to read three axes.
//
//   transpose_3 [16, 61, 24], the call makes [2, 8, 61, 24]   ->   reshape "view_5" [2, 8, 61, 24]
//
// The view called `name` of `source`, added in front of the call at `at`, whose result has the shape `call`; invalid:
// `name` is no view, or `source` has the axes.
ValueId LiftViewAsHeads(const std::string& name, ValueId source, const Shape& call, const FxSite& at);

}  // namespace vramplan
