// The passes of this folder: what tools that simplify do to a file. Each file begins with what it undoes.
#pragma once

#include <optional>
#include <vector>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan {

// --- fx_order.cc ---

struct Reordered {
  Graph graph;
  std::vector<NodeId> given;  // by node: which one it was
};

// Nothing where the order is the exporter's, or where nodes hold graphs.
std::optional<Reordered> InCallOrder(const Graph& graph);

// --- stored_fills.cc ---

// The graph in which such tensors are stored; nothing when it has none. Ids stay what they are.
std::optional<Graph> StoreFills(const Graph& graph, const Shapes& shapes);

// --- merged_stored.cc ---

struct Separated {
  Graph graph;
  Shapes shapes;
};

// The graph in which every module has stored tensors of its own again; nothing when none were merged. Nodes keep their
// ids; new tensors come last.
std::optional<Separated> SeparateMergedStored(const Graph& graph, const Shapes& shapes, Notes* notes);

}  // namespace vramplan
