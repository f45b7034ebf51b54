// What a run has not seen, and what it wrote: part of "vramplan.run/1".
//
//   3 steps, then it was ended; not seen: an evaluation, a checkpoint, a later stage (--until-exit runs on)
#pragma once

#include <optional>
#include <string>

#include "planner/report/script.h"

namespace vramplan {

// Whether an evaluation ran. Nothing: no module told that its forward runs, as with torch.compile.
std::optional<bool> Evaluated(const Recording& recording);

// Behind how the run ended; empty: everything was seen, it ended by itself, or nobody can know.
std::string UnseenText(const ScriptReport& report);

// The checkpoints that were held back, or written with zeros in them; and what was removed and stays.
void NoteSaved(ScriptReport* report);

}  // namespace vramplan
