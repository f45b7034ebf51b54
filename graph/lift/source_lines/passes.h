// The passes of this folder: what the lines of the model's own code say. Each file begins with what it undoes.
#pragma once

#include <cstdint>
#include <string_view>

#include "graph/base/note.h"
#include "graph/ir/graph.h"
#include "graph/layers/edit.h"
#include "graph/layers/layers.h"
#include "graph/layers/source.h"

namespace vramplan {

// --- read_source.cc ---

// Empty when no node has a trace.
Source ReadSource(const Graph& graph);

// The innermost line in which a layer ran; null: the file does not say.
const SourceLine* LineOf(const Layers& layers, const Layer& layer);

// --- index_adds.cc ---

// Behind ReadSource.
void NameIndexAdds(Layers* layers, Notes* notes);

// --- inplace_lines.cc ---

// Sets or takes back "inplace" of arithmetic and of activations where their line leaves no doubt; what a class says by
// habit (inplace.h) gives way.
void ReadInPlaceLines(Layers* layers);

// --- regions.cc ---

// Sets "no_grad" of what ran under torch.no_grad(): 1 where lines say so, kNoGradGuessed where only scopes do. Sets
// "autocast" to 0 in blocks that turn it off. Both get the module scopes back that the exporter lost there. A block that can only be an
// autograd.Function becomes one call. Note "custom-function".
constexpr int64_t kNoGradGuessed = 2;
void ReadRegions(Layers* layers, Notes* notes);

// The entry of the tape behind layer `at`, for an autograd.Function whose last call that is: its gradient is that of
// `operand`, which it keeps, and its backward holds `steps` tensors on its way (planner/semantics/function.cc).
void PutFunctionBehind(size_t at, ValueId operand, int64_t steps, const Layers& layers, Edit* edit);

// --- cast_lines.cc ---

// Casts of comparisons and masks to fp32 whose line says .to(.dtype) or .type_as(): to the type of what they are
// multiplied with. Where a line makes fp32 of a tensor twice, each reader has a cast of its own.
void ReadCastLines(Layers* layers);

// The same of all such casts whose line is not known. False: there are none.
bool CastAsOperand(Layers* layers);

// A cast of its own for the second reader of x.float(), where no line is known. False: there is no such reader.
bool CastTwice(Layers* layers);

// --- checkpointed.cc ---

// Fills `checkpointed`; needs `source`. Notes: "checkpoint-in-code", and "checkpoint-of-function" for what it cannot
// apply.
void ReadCheckpoints(Layers* layers, Notes* notes);

// What a line checkpoints, as it is written: "block" of "x = checkpoint(block, x)"; empty: nothing.
std::string_view CheckpointedIn(std::string_view line);

}  // namespace vramplan
