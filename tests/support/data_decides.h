// Which operators' output shapes the values of a tensor decide, as the ONNX specification says: what the uses over
// models may count as unknown by design.
#pragma once

#include <string>

#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"

namespace vramplan::testing {

bool FullyKnown(const TensorFacts& facts);

// Every node whose inputs are known and whose outputs are not must be such an operator, reading the deciding values
// from no constant; gives the first that is not, or nothing. Subgraphs count with the node they belong to.
std::string NotDecidedByData(const Graph& graph, const Shapes& shapes);

}  // namespace vramplan::testing
