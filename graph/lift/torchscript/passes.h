// The passes of this folder: what the TorchScript exporter does to a model. Each file begins with what it undoes.
#pragma once

#include <optional>
#include <set>
#include <utility>

#include "graph/lift/passes.h"

namespace vramplan {

// --- shared_constants.cc ---

// Every such module has a constant of its own.
std::optional<GraphState> SeparateSharedConstants(const Graph& graph, const Shapes& shapes, Notes* notes);

// --- folded_biases.cc ---

// Biases of attention that an export of eval() stores are made by the forward.
void MakeFoldedBiases(Layers* layers);

// --- low_rank.cc ---

// Gives parameters and modules back the names that the model has, and each module its dropout.
void RestoreLowRankPairs(Layers* layers);

// --- skipped_layers.cc ---

// Warns "skipped-layer", once a list.
void NoteSkippedLayers(const Layers& layers, Notes* notes);

// Warns "unrun-stages" where code builds more of an encoder than it runs, and the file lists none of it.
void NoteUnrunStages(const Layers& layers, Notes* notes);

// --- unread_modules.cc ---

// Adds the parameters of modules that the code builds and this forward never reads.
void CountUnreadModules(Layers* layers);

// --- nested_joins.cc ---

// UNet++ of segmentation_models_pytorch and MONAI, whose skips are joined ahead.
void SplitNestedJoins(Layers* layers);

// --- dense_maps.cc ---

// x.reshape(B, H, W, -1).permute(0, 3, 1, 2).contiguous(): NVlabs' SegFormer (models/backbones/mix_transformer.py) and
// its children in transformers, segmentation_models_pytorch and timm (pvt_v2.py, twins.py, coat.py), the end of
// diffusers' Transformer2DModel, and monai's UNETR in three dimensions (networks/nets/unetr.py, proj_feat). Code that
// keeps its maps with the channels last from block to block (ConvNeXt, NesT) turns them without a copy, and so do
// tables of positions that are resized. Likewise norm1(x).contiguous() of segmentation_models_pytorch's own encoder
// (encoders/mix_transformer.py), whose norms take maps.
void MakeMapsOfSequencesContiguous(Layers* layers);

// --- detached.cc ---

void DetachStraightThrough(Layers* layers);

// After GatherReductionsByIndex.
void DetachSoftmaxByIndex(Layers* layers);

// {place, operand} of each x - max(x) and x / sum(abs(x)) whose maximum or sum nothing says to be detached.
using Operands = std::set<std::pair<size_t, size_t>>;
Operands PerhapsDetached(const Layers& layers);
// Puts detach in front of these operands.
void Detach(const Operands& operands, Layers* layers);

}  // namespace vramplan
