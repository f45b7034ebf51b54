// Assumed: what an eval export has thrown away and only the user can say was there.
//
//   conv2d (batch norm folded into it)      ->  conv2d without a bias, batch_norm
//   linear -> add(residual, .)              ->  linear, dropout, add; likewise behind attention's probabilities and
//                                               behind the sum of the embeddings
#pragma once

#include "graph/lift/layers.h"

namespace vramplan {

// Puts a batch norm of its own behind every convolution that carries `folded_norm`. How many.
int AssumeBatchNorm(Layers* layers);

// Where transformers' blocks have their dropouts (modeling_bert.py, modeling_gpt2.py: resid_dropout, attn_dropout,
// embeddings' dropout). Layers with dropouts of their own stay as they are. How many.
int AssumeDropout(Layers* layers, double p);

// How many AssumeDropout would put back, where the file has attention; 0 when it has dropouts, or a batch norm in
// training: an export of model.train().
int MissingDropouts(const Layers& layers);

}  // namespace vramplan
