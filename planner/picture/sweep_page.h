// The answer of sweep as a page: a curve for each combination of the other axes, the laws, and every answer as a row.
#pragma once

#include <string>

#include "planner/report/sweep.h"

namespace vramplan {

std::string PrintSweepPage(const SweepReport& report);

}  // namespace vramplan
