// Joins of joins: the TorchScript exporter writes a join whose operand is a join as one node. Where a call joins what
// it made with several tensors that were made before it, the caller had joined those: a call takes one skip.
//
//   up(x, cat([x00, x01]))      up:  cat(x00, x01, up)      ->      cat(x00, x01)      up:  cat(that, up)
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// UNet++ of segmentation_models_pytorch and MONAI, whose skips are joined ahead.
void SplitNestedJoins(Layers* layers);

}  // namespace vramplan
