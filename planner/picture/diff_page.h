// The answer of diff as a page.
#pragma once

#include <string>

#include "planner/report/diff.h"

namespace vramplan {

std::string PrintDiffPage(const Diff& diff);

}  // namespace vramplan
