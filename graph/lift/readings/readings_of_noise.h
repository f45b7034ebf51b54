// Readings of noise on weights, which a noisy layer adds in train() alone (arXiv 1706.10295, section 3).
//
//   linear(x, add(mu, mul(sigma, epsilon)))   in an export of train(): eval() may read mu alone
//   linear(x, weight_mu)                      in one of eval(): train() may add weight_sigma * weight_epsilon, which are
//                                             there in eval() too
#pragma once

#include <optional>

#include "graph/layers/uses.h"
#include "graph/lift/readings/readings.h"

namespace vramplan {

// mu of add(mu, mul(sigma, epsilon)), all three stored; invalid: `weight` is something else.
ValueId MeanOfNoise(const Uses& uses, ValueId weight);

// What eval() runs of an export of train(). Each gives nothing where the file leaves no such doubt.
std::optional<Reading> WithoutNoiseInstead(const Layers& layers);
// What train() runs, and what evaluation holds, of an export of eval() that has the means by name and no deviations.
std::optional<Reading> NoiseInstead(const Layers& layers);
std::optional<Reading> UnreadNoiseInstead(const Layers& layers);

}  // namespace vramplan
