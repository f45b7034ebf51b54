// The answer of sweep as a page: a curve for each combination of the other axes, the laws, and every answer as a row.
#pragma once

#include <string>

#include "planner/report/sweep.h"

namespace vramplan {

std::string PrintSweepPage(const SweepReport& report);
// Its curves alone, with colours of their own. Error: there is no curve.
Result<std::string> PrintSweepSvg(const SweepReport& report);

}  // namespace vramplan
