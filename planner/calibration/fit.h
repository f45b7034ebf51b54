// Least squares over timed samples: a kernel takes a time of its own and then its work at the card's rate.
//
//   work      1 MB     10 MB    100 MB       seconds = launch + work / rate
//   seconds   9.2 us   46.7 us  422 us       launch 5.0 us, rate 240 GB/s, residual 0.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cuda_probe/probe.h"
#include "planner/calibration/profile.h"

namespace vramplan {

// Of repeated work the median is fitted, since a card that is interrupted can only be slower; each amount of work
// counts alike (relative errors), and the launch is never below zero. The residual is that of all samples. Nothing:
// fewer than two amounts of work, or time that does not grow with them.
std::optional<FittedRate> FitRate(const std::string& what, const std::vector<TimedWork>& samples);

}  // namespace vramplan
