// Held outputs: what a model returns beside what was exported. Encoder-decoder models of transformers return a
// Seq2SeqLMOutput, whose encoder_last_hidden_state keeps the encoder's result alive as long as the caller's `out`
// (transformers 5.23, modeling_t5.py, modeling_bart.py); an export of the logits does not show it.
#pragma once

#include "graph/lift/layers.h"

namespace vramplan {

// Appends the encoder's result to the outputs: a call "...encoder" beside a call "...decoder" whose attention over it
// has transformers' name for it (EncDecAttention, encoder_attn).
void HoldEncoderState(Layers* layers);

}  // namespace vramplan
