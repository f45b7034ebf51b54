// The words in which every report describes a request that failed.
//
//   WhenText       "in the backward of step 2", "before step 1"
//   RequestText    "624.00 MiB for gradient of /up.3/conv/..., at /up.3/conv/net/net.5/Relu"
#pragma once

#include <optional>
#include <string>

#include "planner/report/writing/json.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

std::string WhenText(const Bottleneck& at);
std::string RequestText(const Bottleneck& at);
// {"batch", "step", "phase", "node", "tensor", "bytes"}, or null.

}  // namespace vramplan
