// ReadCheckpoints: module calls that the code itself runs under torch.utils.checkpoint, where the file has the source
// lines (graph/lift/source_lines/read_source.h). No exporter writes them otherwise: checkpoint() runs its function as
// it is then.
//
//   58 for block in self.blocks:
//   59     x = checkpoint(block, x)            every call of blocks.0, blocks.1 ... that stands in line 59
//   60 x = x + checkpoint(self.attn, x)        the call of attn
//   61 x = checkpoint(self.inner, x)           a function, whose operators stand in line 61: told, not applied
//
// The line of an export of model.eval() may say `checkpoint(block, x) if self.training else block(x)`: training is what
// a checkpoint matters to, so that half of it counts.
#pragma once

#include <string_view>

#include "graph/base/note.h"
#include "graph/layers/layers.h"

namespace vramplan {

// Fills `checkpointed`; needs `source`. Notes: "checkpoint-in-code", and "checkpoint-of-function" for what it cannot
// apply.
void ReadCheckpoints(Layers* layers, Notes* notes);

// What a line checkpoints, as it is written: "block" of "x = checkpoint(block, x)"; empty: nothing.
std::string_view CheckpointedIn(std::string_view line);

}  // namespace vramplan
