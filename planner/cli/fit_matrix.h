// RunFitMatrix: fit --gpu all, one row for each card of the catalogue.
#pragma once

#include "planner/answers/prepare.h"
#include "planner/cli/verbs.h"

namespace vramplan {

Result<Outcome> RunFitMatrix(const Options& options, Prepared prepared, const Style& style);

void NoteAmd(Notes* notes);

}  // namespace vramplan
