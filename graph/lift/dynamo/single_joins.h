// Joins of one tensor: torch.cat([x], 1) copies x, and the dynamo export drops it. The other calls of its class tell:
//
//   _DenseLayer.forward     cat(features) -> batch_norm -> relu -> conv2d -> ...     the second to the last of a block
//                           batch_norm -> relu -> conv2d -> ...                      the first, whose list has one
//                           entry
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// Puts a cat of one tensor in front of calls that do, behind the first layer of others of their class, what those do
// behind a cat.
void RestoreSingleJoins(Layers* layers);

}  // namespace vramplan
