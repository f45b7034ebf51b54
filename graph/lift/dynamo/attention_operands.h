// Operands of a scaled_dot_product_attention that the exporter decomposed, by the part they play: the exporter drops
// clones and contiguous calls, so the names in the fx text are gone, and the order in which the nodes read says
// nothing.
//
//   MatMul(Mul(q, s), Mul(Transpose(k), s)) -> Add(mask) -> Softmax -> MatMul(., v)     q, k, v, mask
#pragma once

#include <array>
#include <vector>

#include "graph/ir/graph.h"

namespace vramplan {

// Query, key, value, mask: tensors made outside of `nodes`; invalid where the nodes do not say.
std::array<TensorId, 4> AttentionOperands(const Graph& graph, const std::vector<NodeId>& nodes);

}  // namespace vramplan
