// Branches: If nodes are replaced by the branch that is run, so that what follows sees one sequence of operators. A
// condition that is known, stored or computed from shapes, decides; where an input of the model decides, the branch
// that reads more stored bytes wins, and a note says so:
//
//   use_cache_branch -> If [then: 26 weights, else: 30 weights]     ->    the nodes of else
//
// (optimum's decoder_model_merged.onnx: without a cache the decoder also projects the encoder's states.)
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// Nothing when no If of the outermost level can be replaced. Ids of tensors stay; inputs that only the other branch
// read are gone, unless `options` speak of them.
std::optional<Graph> WithoutBranches(const Graph& graph, const BindOptions& options, Notes* notes);

}  // namespace vramplan
