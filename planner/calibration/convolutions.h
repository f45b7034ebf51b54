// The convolutions of a model, as cuDNN is asked about them and as a plan looks them up again.
//
//   conv2d(x [8, 64, 56, 56], w [64, 64, 3, 3])    forward, input gradient, weight gradient, in each type
//
// A transposed convolution is the input gradient of an ordinary one (ATen/native/cudnn/ConvShared.cpp,
// cudnn_convolution_transpose_forward), and one over a single axis runs as one over two, whose first has length 1
// (ATen/native/Convolution.cpp, view1d_as_2d).
#pragma once

#include <vector>

#include "cuda_probe/probe.h"
#include "graph/layers/layers.h"
#include "planner/calibration/profile.h"

namespace vramplan {

// What to ask, and under which shape the answer is kept.
struct ConvolutionQuestion {
  ConvolutionCall call;
  ConvolutionShape shape;
};

// In the plain layout, in fp32 (tf32 from capability 8.0 on, as torch.backends.cudnn.allow_tf32 is on unless a script
// says no), fp16 and, from 8.0 on, bf16. Each of them once; a layer whose lengths are not known at this batch is left
// out.
std::vector<ConvolutionQuestion> ConvolutionsOf(const Layers& layers, int64_t batch, Capability capability);

// Asks them all. Empty: cuDNN is not installed, or has no way for any.
Result<std::vector<MeasuredConvolution>> MeasureConvolutions(CardSession* session,
                                                             const std::vector<ConvolutionQuestion>& questions);

}  // namespace vramplan
