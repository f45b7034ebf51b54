// Readings of branches: what an export of model.train() has and model.eval() may not run.
//
//   out = head(x); out + 0.4 * aux(f)   if self.training, else out      out alone
//   return out, aux(f)                  likewise                        out, and no layer that only the other needs
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Nothing where the file is no export of train(), or has no such branch.
std::optional<Reading> WithoutBranchesOfTraining(const Layers& layers);

}  // namespace vramplan
