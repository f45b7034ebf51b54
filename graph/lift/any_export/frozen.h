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

// DETR trains parts of a backbone with frozen norms and nothing else of it (graph/habits: kTrainedPart). The learned
// queries beside it tell a DETR. Call before FreezeBatchNorms. Note "assumed-frozen".
void FreezeBackbonesOfDetr(Layers* layers, Notes* notes);

// Tables of sinusoids that encoders of spectrograms store and do not train (graph/habits: kFixedTable). Note
// "assumed-frozen".
void FreezeEncoderPositions(Layers* layers, Notes* notes);

}  // namespace vramplan
