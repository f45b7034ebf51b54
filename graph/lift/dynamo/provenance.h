// Provenance: layers from what the dynamo exporter writes beside every node.
//
//   fx_node   %conv2d : [num_users=1] = call_function[target=torch.ops.aten.conv2d.default](
//                 args = (%x, %p_w, None, [2, 2]), kwargs = {})
//   becomes   conv2d(x, w)  stride [2, 2]
#pragma once

#include <vector>

#include "graph/base/note.h"
#include "graph/layers/builder.h"

namespace vramplan {

// Makes layers of the live nodes that carry an fx node, registers the graph signature's parameters and buffers, and
// clears `live` where it made a layer (or found that none is needed), so that what is left is for the patterns.
void LiftByProvenance(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, std::vector<bool>* live,
                      Notes* notes);

}  // namespace vramplan
