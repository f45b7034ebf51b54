// Unused signatures. Keras' export with the PyTorch backend (keras 3.12, keras/src/export/onnx.py) runs over its
// variables' values: torch.export captures them as constants, and lists parameters that no operator names.
//
//   p_kernel: PARAMETER, c_lifted_tensor_8: CONSTANT_TENSOR, linear(x, c_lifted_tensor_8)
//
// Such a file says less than it seems to: without signature and provenance its stored tensors are what they are used
// as.
#pragma once

#include <optional>

#include "graph/ir/graph.h"

namespace vramplan {

// The graph without them; nothing where some operator names a parameter, or where the file lists none.
std::optional<Graph> WithoutUnusedSignature(const Graph& graph);

}  // namespace vramplan
