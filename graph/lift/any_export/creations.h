// Creations: whose type a tensor has that the code makes like another one. Under autocast torch.zeros(n, c) is fp32,
// while zeros_like(h) and h.new_zeros(n, c) are fp16 where h is; a file in fp32 says neither.
//
//   Shape(h) -> ConstantOfShape                zeros_like(h): the TorchScript exporter writes the shape itself
//                                              (torch/onnx/_internal/torchscript_exporter/symbolic_opset9.py, 2.10)
//   ConstantOfShape, scatter_add or index_add  made for what is added: both ask for one type in place
//                                              (aten/src/ATen/native/TensorAdvancedIndexing.cpp, 2.10), and
//                                              torch_geometric's utils/_scatter.py writes src.new_zeros
//
// The dynamo exporter names the call and its operand (graph/programs/aten.cc).
#pragma once

#include "graph/layers/layers.h"
#include "graph/layers/uses.h"

namespace vramplan {

// Gives zeros, ones and full without an input the tensor whose type they take as first input, where the file tells it.
// Numbers that are scattered into them are written in place, and torch_geometric adds in place. `graph`: the one that
// the layers' nodes are of.
void TypeCreations(const Graph& graph, Layers* layers);

// The tensors of floating type that still have none: torch.zeros and new_zeros are written alike.
bool IsUntypedCreation(const Layers& layers, const Layer& layer);

// scatter_add, index_add.
bool IsAdditionByIndex(const Layer& layer);

}  // namespace vramplan
