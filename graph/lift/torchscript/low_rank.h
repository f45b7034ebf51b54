// Low-rank pairs in TorchScript files of model.eval(): peft keeps lora_A and lora_B in a ModuleDict each, which is
// never called, so that both products run in the scope of their key ("query/default/MatMul", "query/default_1/MatMul"),
// and the folded matrices lose the names. Fresh ones of zeros are stored once for all.
//
//   query.base_layer.weight [768, 768]        query.base_layer.weight
//   query.default.weight [8, 768]        ->   query.lora_A.default.weight
//   query.default.weight [768, 8]             query.lora_B.default.weight       one of its own in each module
//
// The dynamo exporter takes the dropouts of query and value, which read the same tensor, for one (its optimizer merges
// equal nodes, random or not): each module has its own again.
//
// peft/tuners/lora/layer.py 0.21.2, LoraLayer: base_layer, lora_dropout, lora_A, lora_B.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Gives parameters and modules back the names that the model has, and each module its dropout.
void RestoreLowRankPairs(Layers* layers);

}  // namespace vramplan
