// Readings of types, which an export in fp32 does not show and which matter under autocast only.
//
//   torch.zeros(n), fp32                         or x.new_zeros(n)
//   torch.arange(n, dtype=x.dtype), stored       or of fp32
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> HalfCreationsInstead(const Layers& layers);
std::optional<Reading> HalfConstantsInstead(const Layers& layers);

}  // namespace vramplan
