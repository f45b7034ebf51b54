// Which cards a version of PyTorch runs on: those that its own wheels hold kernels for.
//
//   LowestCapability({2, 15})    7.5: Pascal and Volta went with CUDA 12.6
#pragma once

#include <vector>

#include "planner/spec/device.h"
#include "planner/spec/spec.h"

namespace vramplan {

Capability LowestCapability(Framework framework);
// The newest version whose wheels hold kernels for it; nothing: none of those that are known.
std::optional<Framework> LastFor(Capability capability);
bool Runs(const Card& card, Framework framework);

// NVIDIA's cards that it runs on, the smallest first.
std::vector<const Card*> CardsFor(Framework framework);

}  // namespace vramplan
