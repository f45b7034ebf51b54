// Tables: a look at a few elements of the weights that may be one tensor under two names. An eval export folds the
// transpose of a tied output layer into a tensor of its own; only the numbers tell it from a layer that was never tied.
//
//   Gather(wte [50257, 768]), MatMul(x, "onnx::MatMul_3899" [768, 50257])     64 elements of each are read
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "graph/ir/graph.h"

namespace vramplan {

// By name: the raw_data of tensors that are too large to be copied, in the file.
using RawPlaces = std::map<std::string_view, std::string_view>;

// Gives their grids to tables that a Gather reads, and to stored matrices of the table's lengths turned around. No more
// than 64 elements of a tensor are read.
void SampleTables(const RawPlaces& raw, Graph* graph);

}  // namespace vramplan
