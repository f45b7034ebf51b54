// Frozen: parameters without a gradient. An exporter leaves requires_grad out of the file, so that a parameter is
// trained until something says otherwise: the habits of this file, or the user (planner/spec/trained.h).
//
//   layers.parameters   conv1.weight kParameter   trained: gradient, optimizer state
//                       fc.weight    kBuffer      frozen: on the card, in state_dict, in the breakdown's "parameters"
//   layers.buffers      bn1.running_mean kBuffer  never was a parameter
//
// Holds: what is in Layers::parameters is what model.parameters() lists; its role says whether it has a gradient. So no
// operator's rule has to know: a buffer is saved, cast and freed as a tensor without requires_grad is.
//
// Torchvision's detection models build their backbones with FrozenBatchNorm2d, whose weight, bias and statistics are
// buffers and whose arithmetic is plain products and sums. A TorchScript file calls all of them initializers; that a
// module has running statistics which no batch norm reads tells.
//
//   layer1.0.bn1.{weight, bias, running_mean, running_var} read by reshape, add, mul      four buffers, no gradients
#pragma once

#include "graph/base/note.h"
#include "graph/lift/layers.h"

namespace vramplan {

inline bool IsTrained(const Layers& layers, ValueId parameter) { return layers[parameter].role == Role::kParameter; }
// A weight or a buffer of the model, frozen or not.
inline bool IsStored(const Value& value) { return value.role == Role::kParameter || value.role == Role::kBuffer; }
// `parameter` is in layers->parameters. Integers have no gradient: they stay frozen.
void SetTrained(Layers* layers, ValueId parameter, bool trained);

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
