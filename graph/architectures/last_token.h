// What generate() of transformers asks of a causal language model when it reads the prompt: the logits of the last token
// alone (logits_to_keep=1).
//
//   alias [B, S, H]   linear [B, S, V]      slice [B, 1, H]   linear [B, 1, V]
//
// Source: transformers 5.23, models/*/modeling_*.py (hidden_states[:, slice_indices, :]), generation/utils.py.
#pragma once

#include "graph/ir/facts.h"

namespace vramplan {

// False: the program does not choose among tokens in front of its last linear layer.
bool KeepLastToken(RecordedProgram* program);

}  // namespace vramplan
