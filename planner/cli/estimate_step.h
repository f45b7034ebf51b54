// EstimateStep: the whole answer of estimate, for the verbs that compare with it.
#pragma once

#include <optional>

#include "graph/base/result.h"
#include "planner/cli/prepare.h"
#include "planner/report/estimate.h"

namespace vramplan {

// `chosen`: the card, when there is one.
Result<Estimate> EstimateStep(const Options& options, const std::optional<ChosenDevice>& chosen);

}  // namespace vramplan
