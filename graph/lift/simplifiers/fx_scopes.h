// Where the nodes of a dynamo export were called that has lost its metadata (fx_names.h): the names of stored tensors
// are places in the module tree, and what stands between two of them is in one of the modules around them.
//
//   LayerNorm(block.norm1.weight), Reshape, Transpose, Gemm(block.attn.qkv.bias), .., Gemm(block.attn.proj.bias),
//   Reshape, Add(x, ..), LayerNorm(block.norm2.weight)
//     block.norm1     of the first norm        block.attn   of the views in front of qkv and behind proj
//     block.attn.qkv  of the first product     block        of the sum: it joins what is older than attn's call
#pragma once

#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace vramplan {

// By node, as scopes of the TorchScript exporter are written: "/features.1/features.1.0/attn/qkv".
std::vector<std::string> FxScopes(const Graph& graph);

}  // namespace vramplan
