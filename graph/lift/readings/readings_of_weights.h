// What else the stored tensors of a file may be (graph/lift/readings/readings.h): an export writes numbers, and not how
// the code came by them.
//
//   lm_head.weight [50257, 768] beside an embedding of that shape     a weight of its own, or the embedding's,
//                                                                     transposed
//   linear(h, embed.weight)                                           F.linear, or h @ embed.weight.t();
//                                                                     a cell's weight likewise
//   Gemm with a weight called onnx::Gemm_37                           a parameter, or a product that was folded: MADE's
//                                                                     masked layers, weight norm, standardised weights
//   offset [50], read by a sum                                        a parameter, or a buffer
//   embed_positions.weight, looked up by arange                       learned positions, or sinusoids (Marian, Whisper)
//   onnx::Reshape_512 [1, 64, 576]                                    a buffer, or what a parameter was folded into
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> TiedWeightsInstead(const Layers& layers);
std::optional<Reading> HeadsByHandInstead(const Layers& layers);
// Parameters that the file lists without a shape, and nothing reads (graph/lift/dynamo/unused_parameters.cc).
std::optional<Reading> OtherShapesInstead(const Layers& layers);
std::optional<Reading> ComputedWeightsInstead(const Layers& layers);
std::optional<Reading> BuffersInstead(const Layers& layers);
std::optional<Reading> SinusoidsInstead(const Layers& layers);
std::optional<Reading> ParametersInstead(const Layers& layers);

}  // namespace vramplan
