// The passes of this folder: what the TorchScript exporter does to a model. Each file begins with what it undoes.
#pragma once

#include "graph/lift/passes.h"

namespace vramplan {

// --- low_rank.cc ---

// Gives parameters and modules back the names that the model has, and each module its dropout.
void RestoreLowRankPairs(Layers* layers);

// --- nested_joins.cc ---

// UNet++ of segmentation_models_pytorch and MONAI, whose skips are joined ahead.
void SplitNestedJoins(Layers* layers);

}  // namespace vramplan
