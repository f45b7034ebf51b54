// MostNames: the variables that a forward may have at most, where the file names none: one for every result outside a
// chain, until its frame ends.
//
//   a = self.a(x); b = self.b(a); for block in self.blocks: b = block(b); return self.head(b)
//   a        held to the end: it may have a name of its own
//   blocks   hand on one name, unless a later turn looks up what an earlier one made: then there is a list of all
#pragma once

#include <vector>

#include "planner/lifetimes/statements.h"

namespace vramplan {

// `producer`: the call that each value was made in; `read`: when it goes if it has no name; `told`: source lines name
// it, so that nothing is assumed.
void HoldMostNames(const Layers& layers, const Calls& calls, const Statements& statements,
                   const std::vector<ModuleId>& producer, const Holds& read, const std::vector<bool>& told,
                   Holds& release);

}  // namespace vramplan
