// Merged: what export computed once because it is equal, and eager computes once a call.
//
//   x[0::2, 0::2], x[0::2, 1::2]      slice(x, 0) shared by two slices     ->  each indexing has slices of its own
//
// A view costs nothing in the forward, but its gradient is a tensor of the whole (slice_backward).
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// A slice or select that only other slices and selects read, and more than one of them, is repeated for each: code
// indexes a name, not a part.
void SplitMergedSlices(Layers* layers);

// An activation of what its module was given, read in that module and in another one that was given the same, ran in
// both: F.leaky_relu(x) at the beginning of two residual blocks side by side.
void SplitMergedActivations(Layers* layers);

// s = (x - u).pow(2).mean(1, keepdim=True); x = (x - u) / torch.sqrt(s + eps): the layer norm that most people's own
// are copied from (ConvNeXt, models/convnext.py; pytorch-pretrained-bert, modeling.py) centres twice. A TorchScript
// file has it once; the dynamo exporter names both.
void SplitMergedCentering(Layers* layers);

}  // namespace vramplan
