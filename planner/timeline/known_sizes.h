// KnownSizes: a step is only as well known as its tensors. A shape with a length that data decides, and for which there
// is no bound, would make one block as large as can be written: no peak could be told from that.
#pragma once

#include "graph/base/result.h"
#include "graph/lift/layers.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// An error that names the first tensor of unknown shape which takes memory, and the options that give its lengths.
Status CheckKnownSizes(const Layers& layers, const Timeline& timeline);

}  // namespace vramplan
