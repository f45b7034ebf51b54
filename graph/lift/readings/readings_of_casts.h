// Readings of casts, which an export in fp32 does not show and which matter under autocast only.
//
//   keep = (r > p).to(x.dtype)                   or .float()
//   x.float() * rsqrt(x.float().pow(2).mean())   or one x.float() for both
//   softmax(scores.float(), -1).type_as(q)       or softmax(scores, -1)
//   return self.head(x).float()                  or self.head(x)
//   torch.arange(n, dtype=x.dtype), stored       or of fp32
//   F.grid_sample(x, grid.to(x.dtype))           or (x, grid)
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Each gives nothing where the file leaves no such doubt.
std::optional<Reading> CastsInstead(const Layers& layers);
std::optional<Reading> CastTwiceInstead(const Layers& layers);
std::optional<Reading> CastBackInstead(const Layers& layers);
std::optional<Reading> FloatResultsInstead(const Layers& layers);
std::optional<Reading> HalfConstantsInstead(const Layers& layers);
std::optional<Reading> GridsAsOperandsInstead(const Layers& layers);

}  // namespace vramplan
