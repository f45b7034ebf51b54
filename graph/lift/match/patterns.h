// Patterns: layers from the shape of the graph and the names of its nodes, where the file has no provenance.
#pragma once

#include <vector>

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/lift/builder.h"

namespace vramplan {

// Makes layers of the nodes with `live` (the others did no work on the device, or have their layer already). In a file
// without any provenance it also registers the stored tensors as parameters, buffers or constants; where the file has a
// graph signature (graph.signature is not empty) they are registered already.
Status LiftByPattern(const Graph& graph, const Shapes& shapes, LayerBuilder& builder, const std::vector<bool>& live,
                     Notes* notes);

}  // namespace vramplan
