// What generate() of transformers asks of a causal language model when it reads the prompt: the logits of the last token
// alone (logits_to_keep=1), for a copy of the prompts and positions of each of them, which it holds through the forward.
//
//   alias [B, S, H]         linear [B, S, V]        slice [B, 1, H]    linear [B, 1, V]
//   arange [S], unsqueeze [1, S], cos [1, S, W]     clone [B, S], cos [B, S, W]
//
// Besides, it makes a few numbers (the tokens that begin, end and fill a sequence, which sequences go on), which are not
// counted: 8 bytes each.
//
// Source: transformers 5.23, models/*/modeling_*.py (hidden_states[:, slice_indices, :]), generation/utils.py
// (prepare_inputs_for_generation).
#pragma once

#include "graph/ir/facts.h"

namespace vramplan {

// False: the program does not choose among tokens in front of its last linear layer.
bool KeepLastToken(RecordedProgram* program);

}  // namespace vramplan
