// Convolutions without cuDNN: PyTorch's own kernels, which write patches of one sample as columns of a matrix and
// multiply (aten/src/ATen/native/cuda/ConvolutionMM2d.cu, NaiveDilatedConvolution.cu, NaiveConvolutionTranspose2d.cu
// and 3d). They run where ConvParams::use_cudnn (Convolution.cpp) says no: bf16 on a card before 8.0, and paddings of
// the output as large as the stride. One matrix of columns serves all samples; groups run one after the other.
//
//   conv2d of bf16 [3, 16, 20, 20] by [32, 16, 3, 3] on a T4: +76'800 output, +115'200 columns (16*3*3 x 20*20),
//   -115'200
#pragma once

#include "planner/semantics/eager.h"

namespace vramplan::eager {

enum class NativeKernel : uint8_t {
  kMatrix,      // slow_conv2d
  kDilated,     // slow_conv_dilated2d; in three dimensions all
  kTransposed,  // slow_conv_transpose2d, slow_conv_transpose3d
};

struct NativeConvolution {
  NativeKernel kernel = NativeKernel::kMatrix;
  int64_t groups = 1;
  bool pointwise = false;  // kernel and stride 1, no padding
  bool biased = false;
};

// The output, of `sizes`.
Tensor NativeForward(Eager& e, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                     const Shape& sizes);

// Sets the gradients of input, weight and bias that are needed.
void NativeGradients(GradContext& g, const NativeConvolution& how, const Tensor& input, const Tensor& weight,
                     const Tensor& gradient);

// Of every convolution's bias: the gradient of the output summed over everything but the channels.
Tensor BiasGradient(Eager& e, const Tensor& gradient);

}  // namespace vramplan::eager
