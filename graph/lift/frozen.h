// Frozen: torchvision's detection models build their backbones with FrozenBatchNorm2d, whose weight, bias and
// statistics are buffers and whose arithmetic is plain products and sums. A TorchScript file calls all of them
// initializers; that a module has running statistics which no batch norm reads tells.
//
//   layer1.0.bn1.{weight, bias, running_mean, running_var} read by reshape, add, mul      four buffers, no gradients
#pragma once

#include "graph/base/note.h"
#include "graph/lift/layers.h"

namespace vramplan {

void FreezeBatchNorms(Layers* layers);

// DETR trains of a backbone with frozen norms what is called layer2, layer3 or layer4 and nothing else (facebook's
// models/backbone.py, BackboneBase; transformers' DetrConvEncoder and those of Conditional and Deformable DETR, Table
// Transformer and Grounding DINO). The learned queries beside it tell a DETR: query_embed, query_position_embeddings.
// Call before FreezeBatchNorms.
void FreezeBackbonesOfDetr(Layers* layers, Notes* notes);

// self.embed_positions.requires_grad_(False): the encoders of spectrograms in transformers
// (models/whisper/modeling_whisper.py, WhisperEncoder; so Qwen2-Audio, Voxtral and Audio Flamingo), whose sinusoids are
// stored and not trained, and which have two convolutions, conv1 and conv2, beside that table.
void FreezeEncoderPositions(Layers* layers);

}  // namespace vramplan
