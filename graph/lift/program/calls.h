// Calls of a .pt2 file (graph/ir/aten.h) become layers: each is the operator that the framework ran, so nothing is
// gathered, split or guessed.
//
//   aten.relu_.default(batch_norm)                 relu(batch_norm), inplace
//   aten.copy_.default(slice(x), y)                slice_scatter(x, y), inplace; who reads x afterwards reads that
//   aten.to.dtype(x, float32), x in fp32           float(x): nothing in fp32, an upcast in halves
//   aten.add_.Tensor(num_batches_tracked, 1)       no layer: it writes into a buffer that is there
#pragma once

#include <vector>

#include "graph/lift/builder.h"

namespace vramplan {

// All nodes of the graph are taken from `live`. Does nothing with another graph.
void LiftProgram(const Graph& graph, LayerBuilder& builder, std::vector<bool>* live);

}  // namespace vramplan
