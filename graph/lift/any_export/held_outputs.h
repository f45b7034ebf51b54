// Held outputs: what lives until the next forward beside what was exported.
//
//   encoder_last_hidden_state   of the Seq2SeqLMOutput that transformers' encoder-decoder models return (5.23,
//                               modeling_t5.py, modeling_bart.py); an export of the logits does not show it
//   weight_mask * weight_orig   torch.nn.utils.prune sets the product as the module's attribute in front of each
//                               forward (prune.py 2.10, BasePruningMethod.__call__)
#pragma once

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Appends the encoder's result to the outputs: a call "...encoder" beside a call "...decoder" whose attention over it
// has transformers' name for it (EncDecAttention, encoder_attn).
void HoldEncoderState(Layers* layers);

// Appends the products of `NAME_mask` and `NAME_orig`, and says so: the names alone tell them.
void HoldPrunedWeights(Layers* layers, Notes* notes);

}  // namespace vramplan
