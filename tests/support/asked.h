// Asked: a row of a table of truth, asked as a user asks on the command line: estimate on a T4 that takes no workspace.
#pragma once

#include <string>
#include <vector>

#include "planner/report/estimate.h"
#include "tests/support/truth.h"

namespace vramplan::testing {

// The row has mode, batch, precision, and perhaps dims ("sequence=128;size=64"). `loss`: its name, empty: none is said;
// of inference too, where the target of that loss was on the card. The answer is that of --format json, which has every
// assumption.
// `more`: further words of the command line.
Result<Estimate> Asked(const std::string& file, const Row& row, const std::string& loss,
                       const std::vector<std::string>& more = {});

}  // namespace vramplan::testing
