// NameIndexAdds: the dynamo exporter writes index_add as index_put with accumulate (torch/_decomp/decompositions.py
// 2.10, _index_add), which keeps less for the backward: index_add keeps what was added (derivatives.yaml 2.10,
// index_add: expand_as(source)), index_put only the numbers.
//
//   gnn of 40,000 edges, 128 channels, three layers      index_put 48.6 MiB requested, index_add 105.3 MiB
//
// The source line says which of them ran, where the file has it. Without it index_add is assumed, which is the larger,
// and a note says so.
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Behind ReadSource.
void NameIndexAdds(Layers* layers, Notes* notes);

}  // namespace vramplan
