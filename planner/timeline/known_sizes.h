// KnownSizes: refuses a step with a tensor of unknown size. If data decides a length and the file gives no bound,
// that tensor's block has no size either, so the step has no peak to predict.
#pragma once

#include "graph/base/result.h"
#include "graph/layers/layers.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// An error that names the first tensor of unknown shape which takes memory, and the options that give its lengths.
Status CheckKnownSizes(const Layers& layers, const Timeline& timeline);

}  // namespace vramplan
