// CheckInputs: lengths that the user gave and that a step cannot be worked out for: two batches at once, or an axis of
// 0 that leaves nothing to compute.
//
//   --input image=8x3x224x224 --input text=4x77     both axes 0 are the batch: refused
//   --dim sequence=0                                the first layer would compute nothing: refused
//   edges [batch, 4096], of which edges[0] and edges[1] are read        the batch cannot be that axis: warned
//   --dim past_sequence_length=0                    an empty cache; every layer still computes: taken
#pragma once

#include "graph/base/note.h"
#include "graph/base/result.h"
#include "graph/ir/graph.h"
#include "graph/shapes/infer.h"
#include "planner/answers/question.h"

namespace vramplan {

// --batch, --dim and every --input agree about the batch.
Status CheckBatch(const Question& question, const Graph& graph, const Binding& binding);

// Inputs whose axis the file calls the batch and which use it otherwise: only x[0] and x[1] are read, or what it holds
// picks rows of the batch. Warning "batch-axis".
void NoteBatchAxes(const Graph& graph, const Shapes& shapes, const Binding& binding, Notes* notes);

// A --dim of 0 empties neither an output nor what a layer with weights makes, and `shapes` were found.
Status CheckEmpty(const Question& question, const Graph& graph, const Result<Shapes>& shapes);

}  // namespace vramplan
