// The options of `run` about a script, as they are typed.
#pragma once

#include <vector>

#include "graph/base/result.h"
#include "planner/cli/typed_values.h"
#include "planner/scripts/script.h"

namespace vramplan {

// Errors (usage): not NAME=LO:HI, not FILE:KEY, not NAME=A,B.
Result<ScriptWishes::Range> ReadRange(const Typed& typed);
Result<ScriptWishes::Key> ReadKey(const Typed& typed);
Result<std::vector<ScriptWishes::Choices>> ReadChoices(const Typed& typed);
// All options about ranks, whichever of them is asked for. Errors (usage): no numbers, a rank that no run has, machines
// that do not share the cards evenly, an option without --gpus.
Result<ScriptRanks> ReadRanks(const Typed& typed);
// Wishes that do not go together: two of one name, too many runs, a key of nothing.
Status CheckWishes(const ScriptWishes& wishes);

}  // namespace vramplan
