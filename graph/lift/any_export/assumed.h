// Assumed: the passes behind PutBack (layers.h): what an eval export has thrown away.
#pragma once

#include <string>

#include "graph/base/note.h"
#include "graph/layers/layers.h"
#include "graph/lift/lift.h"

namespace vramplan {

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
