// The passes of this folder: what any export does to a model. Each file begins with what it undoes.
#pragma once

#include <cstdint>
#include <string>

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/lift/lift.h"

namespace vramplan {

ExportedMode ExportedModeOf(const Graph& graph);  // exported_mode.cc
bool WrittenByTorchScript(const Graph& graph);    // exported_mode.cc: the exporter that leaves out what is never read
void GatherRecurrent(Layers* layers);             // recurrent.cc
void GatherRecurrentCells(Layers* layers);        // recurrent_cells.cc
void GatherReparametrized(Layers* layers);        // reparametrized.cc
void RestoreUpcasts(Layers* layers);              // upcasts.cc

// --- noise.cc ---

// Gives a bernoulli without an input the tensor that its noise multiplies as second input (whose type it takes), and
// marks the division between them as in place. Noise of one number per sample, its division and its product get
// "skipped-in-evaluation": which of its inputs each of them then hands on.
void TypeNoise(Layers* layers);

// --- held_outputs.cc ---

// Appends the encoder's result to the outputs: a call "...encoder" beside a call "...decoder" whose attention over it
// has transformers' name for it (EncDecAttention, encoder_attn).
void HoldEncoderState(Layers* layers);

// Products of `NAME_mask` and `NAME_orig` are kept by their modules, and a note says so: the names alone tell them.
// Likewise `weight_v` times a quotient of `weight_g` beside it.
void HoldComputedWeights(Layers* layers, Notes* notes);

// --- skipped_masks.cc ---

// Only in calls of classes of transformers: others pass what they made.
void SkipKnownMasks(Layers* layers);

// scaled_dot_product_attention wants the last axis of a mask dense, and code that makes a bias by permute writes
// .contiguous() behind it (transformers' create_position_bias_mask, torchvision's and timm's window attention), which
// no exporter keeps: a permuted mask is made contiguous in front of the call.
void MakeMasksContiguous(Layers* layers);

// --- frozen.cc ---

// Note "frozen-norms" where a file that calls them parameters is taken so.
void FreezeBatchNorms(Layers* layers, Notes* notes);

// --- assumed.cc ---

// Puts a batch norm of its own behind every convolution that carries `folded_norm`. Returns how many.
int AssumeBatchNorm(Layers* layers);
// One note, if the export of `file` folded any: "restored-batch-norm", or "folded-batch-norm" where they stay out.
void NoteFoldedBatchNorms(const Layers& layers, const std::string& file, Notes* notes);

// Where transformers' blocks have their dropouts (modeling_bert.py, modeling_gpt2.py: resid_dropout, attn_dropout,
// embeddings' dropout), with the probability of `put_back`. Layers with dropouts of their own stay as they are. Returns
// how many.
int AssumeDropout(Layers* layers, const PutBack& put_back);
void NoteDropouts(int put_back, Notes* notes);

// How many AssumeDropout would put back, where the file has attention; 0 when it has dropouts.
int MissingDropouts(const Layers& layers);

}  // namespace vramplan
