// Readings of branches: what an export of model.train() has and model.eval() may not run.
//
//   out = head(x); out + 0.4 * aux(f)   if self.training, else out      out alone
//   return out, aux(f)                  likewise                        out, and no layer that only the other needs
//   return loss                         in training, else logits        anything less
#pragma once

#include <optional>

#include "graph/lift/readings/readings.h"

namespace vramplan {

// Nothing where the file is an export of eval(), or has no such branch.
std::optional<Reading> WithoutBranchesOfTraining(const Layers& layers);
// Nothing where the file is an export of eval(), or returns more than one number. The other end is the first layer alone:
// which part of the model evaluation runs, the file does not say.
std::optional<Reading> WithoutLoss(const Layers& layers);

}  // namespace vramplan
