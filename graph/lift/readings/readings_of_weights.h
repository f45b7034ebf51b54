// What else the stored tensors of a file may be (graph/lift/readings/readings.h): an export writes numbers, and not how
// the code came by them.
//
//   lm_head.weight [50257, 768] beside an embedding of that shape     a weight of its own, or the embedding's,
//                                                                     transposed
//   offset [50], read by a sum                                        a parameter, or a buffer
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> TiedWeightsInstead(const Layers& layers);
std::optional<Reading> BuffersInstead(const Layers& layers);

}  // namespace vramplan
