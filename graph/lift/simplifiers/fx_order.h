// onnxslim sorts nodes by their distance from the inputs. In a dynamo export without metadata (fx_names.h) whose names
// do not count up any more, each node goes back in front of what reads it first, as code is written:
//
//   linear, linear_1, view, view_1, add(view, view_1)   ->   linear, view, linear_1, view_1, add
#pragma once

#include <optional>
#include <vector>

#include "graph/ir/graph.h"

namespace vramplan {

struct Reordered {
  Graph graph;
  std::vector<NodeId> given;  // by node: which one it was
};

// Nothing where the order is the exporter's, or where nodes hold graphs.
std::optional<Reordered> InCallOrder(const Graph& graph);

}  // namespace vramplan
