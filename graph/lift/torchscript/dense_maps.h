// Dense maps: encoders that work on sequences give maps of several sizes, and code that makes a map of a sequence
// writes .contiguous() behind its permutation, which the TorchScript exporter does not keep. Without it whatever reads
// the map copies it, and what is made of it lies in memory with the channels last.
//
//   reshape [B, 256, 32] -> [B, 16, 16, 32]   permute 0 3 1 2     ->     the same, and contiguous
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// x.reshape(B, H, W, -1).permute(0, 3, 1, 2).contiguous(): NVlabs' SegFormer (models/backbones/mix_transformer.py) and
// its children in transformers, segmentation_models_pytorch and timm (pvt_v2.py, twins.py, coat.py), the end of
// diffusers' Transformer2DModel, and monai's UNETR in three dimensions (networks/nets/unetr.py, proj_feat). Code that
// keeps its maps with the channels last from block to block (ConvNeXt, NesT) turns them without a copy, and so do
// tables of positions that are resized. Likewise norm1(x).contiguous() of segmentation_models_pytorch's own encoder
// (encoders/mix_transformer.py), whose norms take maps.
void MakeMapsOfSequencesContiguous(Layers* layers);

}  // namespace vramplan
