// Rebatch: finding the batch that an exporter wrote into a constant, so that it can vary again.
//
//   x [B, 197, 768] --Reshape [8, 197, 12, 64]--   exported with batch 8: 8*197*12*64 elements are those of x at B = 8,
//                                                  and the 8 stands where x has its B: [B, 197, 12, 64]
//
// Axes are matched by running products, as a reshape of contiguous memory keeps them: [128, B | 768] to [128, 96 | 64]
// puts the batch in the 96 = 8*12. Every replacement is noted ("rebatched").
#pragma once

#include <optional>
#include <vector>

#include "graph/shapes/rule.h"

namespace vramplan {

// `target` (plain numbers, elements equal to those of `input` at `batch`) with the batch put back. Nothing when it fits
// nowhere. `before`: how many elements of axis 0 of the input lie before its batch, where that is known.
std::optional<std::vector<Dim>> Rebatched(const Shape& input, const std::vector<int64_t>& target, int64_t batch,
                                          std::optional<int64_t> before = std::nullopt);

// That number, from the reshape that made rows of several axes: 32 when [32, B, 64] became the [32*B, 64] of which
// this node's input 0 has its rows, 1 when [B, 32, 64] did. The rows may have gone through layers since.
std::optional<int64_t> RowsBeforeBatch(const NodeInference& n);

// The shape that a tensor without a batch is repeated to (a class token, learned queries): when the file's batch was
// re-opened, is at least 2 and stands on axis 0 and nowhere else, axis 0 becomes the batch. Of integers, whose
// counts fall on any number, only where the whole shape is an input's (token types [8, 128] beside ids [8, 128]).
std::vector<Dim> WithLeadingBatch(NodeInference& n, std::vector<Dim> dims);

// What the export computed for every sample of a fixed batch of at least 2 and stored: integers of the very shape of an
// input (token types and positions beside ids [8, 128]) have the batch on its axis. Noted.
void FreeStoredBatch(const Graph& graph, const Binding& binding, Shapes* shapes, Notes* notes);

}  // namespace vramplan
