// ShowTrace: the answer of trace --compare and of compare, with the settings behind it.
#pragma once

#include <optional>

#include "planner/answers/choose_device.h"
#include "planner/answers/prepare.h"
#include "planner/cli/verbs.h"
#include "planner/report/trace.h"

namespace vramplan {

Outcome ShowTrace(const Options& options, const LaidOutStep& laid_out, const std::optional<ChosenDevice>& chosen,
                  TraceReport report, const Style& style);

}  // namespace vramplan
