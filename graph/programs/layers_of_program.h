// A program (graph/ir/facts.h) becomes Layers: one layer a call, in its order, with nothing put back together, since
// nothing was taken apart. Views, copies and writes in place are the code's own.
//
//   aten.relu_.default(%3) -> 4          relu(3) -> 4, inplace 2
//   aten.add_.Tensor(%7, %8, of=%5) -> 9 7 is a part of 5: slice_scatter(5, 8) -> 9, update add
//   aten.to.dtype(%4, amp="float") -> 5  float(4) -> 5
//   ... no_grad                          reads detached views of its operands
#pragma once

#include <optional>

#include "graph/base/note.h"
#include "graph/ir/facts.h"
#include "graph/layers/layers.h"

namespace vramplan {

// The program of a forward that trains or of one that does not, and of autocast where it has its own; null: the facts
// have none.
const RecordedProgram* ProgramFor(const std::optional<Facts>& facts, bool training, bool in_amp);

// `facts`: which of its stored tensors are parameters, and which of them are trained. `lower`: what a program of autocast
// in fp16 has in the place of fp16.
Layers LayersOfProgram(const Facts& facts, const RecordedProgram& program, std::optional<DType> lower, Notes* notes);

}  // namespace vramplan
