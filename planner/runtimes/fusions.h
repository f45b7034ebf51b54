// Fuse: what ONNX Runtime's graph optimisation (ORT_ENABLE_ALL, the default) merges for the CUDA provider and what
// changes how many buffers there are. Seen in the graphs that 1.31 writes with optimized_model_filepath.
//
//   MatMul(x, w), Add(., bias)                   Gemm(x, w, bias)                      matmul_add_fusion.cc
//   Conv(x, w), BatchNormalization(.)            Conv(x, w, bias)                      conv_bn_fusion.cc
//   Mul(x, Sigmoid(x))                           QuickGelu(x)                          quick_gelu_fusion.cc
//   Div, Erf, Add, Mul, Mul                      Gelu(x)                               gelu_fusion.cc
//   Mul(q, scale), MatMul                        FusedMatMul(q, k)                     matmul_scale_fusion.cc
//   Transpose(k), MatMul                         FusedMatMul(q, k)                     matmul_transpose_fusion.cc
//   LayerNormalization(Add(x, skip))             SkipLayerNormalization(x, skip)       skip_layer_norm_fusion.cc
//
// (all of onnxruntime/core/optimizer/). A fusion applies only if nothing else reads the tensors in between. Other
// optimisations (constants shared, transposes moved, slices turned into a split) are not modelled.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

// `given`: of GivenGraph. Weights that nobody reads any more are gone.
void Fuse(Layers* given);

}  // namespace vramplan
