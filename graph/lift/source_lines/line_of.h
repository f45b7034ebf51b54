// LineOf: where in the model's code a layer ran.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// The innermost line; null: the file does not say.
const SourceLine* LineOf(const Layers& layers, const Layer& layer);

}  // namespace vramplan
