// KnownNames: what the code of well-known libraries gives a name, which a graph cannot show.
//
//   normed_hidden_states = self.layer_norm(hidden_states)      T5's sublayers: held until they return
#pragma once

#include "planner/lifetimes/frames.h"

namespace vramplan {

// `producer`: the call that each value was made in.
void HoldKnownNames(const Layers& layers, const Calls& calls, const std::vector<ModuleId>& producer, Holds& release);

}  // namespace vramplan
