// ReadSweepAxes: what a sweep changes, and its values in order.
//
//   batch=1:256:x2         1 2 4 ... 256          batch=16:128:+16      16 32 ... 128
//   precision=fp32,bf16    those two              sequence=128,512
//
// A name is "batch", an option of estimate without its dashes, or else a dim of the model.
#pragma once

#include <string>
#include <vector>

#include "graph/base/result.h"
#include "planner/answers/sweep.h"

namespace vramplan {

// Errors (usage): not NAME=VALUES, an empty range, a name twice, more than kMostAnswers combinations.
inline constexpr size_t kMostAnswers = 4096;
Result<std::vector<SweepAxis>> ReadSweepAxes(const std::vector<std::string>& typed);

}  // namespace vramplan
