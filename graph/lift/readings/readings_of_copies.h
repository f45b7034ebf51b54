// Readings of copies that an exporter writes once, or does not write.
//
//   x - mean(x), read by a variance and by a quotient                    computed once, or once for each
//   x.reshape(B, H, W, C).permute(0, 3, 1, 2), read by a convolution     with contiguous() behind it, or as it lies
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> CentringTwiceInstead(const Layers& layers);
std::optional<Reading> MapsAsTheyLieInstead(const Layers& layers);

}  // namespace vramplan
