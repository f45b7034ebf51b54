// ExportedModeOf: what only an export of model.train() has, or only one of model.eval().
//
//   Dropout, BatchNormalization with training_mode=1, Bernoulli           training
//   Transpose of a stored matrix, written by the TorchScript exporter     training: by default it folds them, and warns
//                                                                         who exports for training not to fold
//                                                                         (torch/onnx/_internal/torchscript_exporter/
//                                                                         utils.py, 2.10, _decide_constant_folding)
//   BatchNormalization with training_mode=0                               evaluation
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

ExportedMode ExportedModeOf(const Graph& graph);

}  // namespace vramplan
