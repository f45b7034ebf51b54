// Frozen: parameters without a gradient. An exporter leaves requires_grad out of the file, so that a parameter is
// trained until something says otherwise: the habits of this file, or the user (planner/spec/trained.h).
//
// Torchvision's detection models build their backbones with FrozenBatchNorm2d, whose weight, bias and statistics are
// buffers and whose arithmetic is plain products and sums. A TorchScript file calls all of them initializers; that a
// module has running statistics which no batch norm reads tells.
//
//   layer1.0.bn1.{weight, bias, running_mean, running_var} read by reshape, add, mul      four buffers, no gradients
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/layers/trained.h"

namespace vramplan {

// Note "frozen-norms" where a file that calls them parameters is taken so.
void FreezeBatchNorms(Layers* layers, Notes* notes);

// DETR trains of a backbone with frozen norms what is called layer2, layer3 or layer4 and nothing else (facebook's
// models/backbone.py, BackboneBase; transformers' DetrConvEncoder and those of Conditional and Deformable DETR, Table
// Transformer and Grounding DINO). The learned queries beside it tell a DETR: query_embed, query_position_embeddings.
// Call before FreezeBatchNorms. Note "assumed-frozen".
void FreezeBackbonesOfDetr(Layers* layers, Notes* notes);

// self.embed_positions.requires_grad_(False): the encoders of spectrograms in transformers
// (models/whisper/modeling_whisper.py, WhisperEncoder; so Qwen2-Audio, Voxtral and Audio Flamingo), whose sinusoids are
// stored and not trained, and which have two convolutions, conv1 and conv2, beside that table. Note "assumed-frozen".
void FreezeEncoderPositions(Layers* layers, Notes* notes);

}  // namespace vramplan
