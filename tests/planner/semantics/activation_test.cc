#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

TEST_CASE("activations: one tensor forward, one backward; what is kept is the input or the output") {
  CheckOperators({
      // Output kept: mlp, ReluBackward0 "+131072 -grad -saved" (alexnet stream); sigmoid: autoencoder dec.9; tanh:
      // dcgan_generator.
      {"relu", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      {"sigmoid", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      {"tanh", "", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      // Input kept: gelu enc.1, silu enc.3, leaky_relu enc.6, mish dec.2 of the autoencoder stream; derivatives.yaml
      // (self) for the others.
      {"gelu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"silu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"mish", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"leaky_relu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"elu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"selu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"celu", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"hardtanh", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"hardswish", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"hardsigmoid", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"softplus", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      {"threshold", "", "x:f[8,64]", "f[8,64]", "1+2048", "x", "2+2048 g- x- 2-"},
      // Half precision halves everything; evaluation keeps nothing.
      {"gelu", "", "x:h[8,64]", "h[8,64]", "1+1024", "x", "2+1024 g- x- 2-"},
      {"gelu", "", "x:f[8,64]", "f[8,64]", "1+2048", "", "", "infer"},
      // derivatives.yaml: glu_backward(grad, self, dim)
      {"glu", "dim=1", "x:f[8,64]", "f[8,32]", "1+1024", "x", "2+2048 g- x- 2-"},
  });
}

TEST_CASE("activations in place: free when the formula can use the result, a clone of the input when not") {
  CheckOperators({
      // resnet18, relu_: no block in the forward; the convolution's or norm's output is what is kept.
      {"relu", "inplace=1", "x:f[8,64]", "f[8,64]", "", "x", "1+2048 g- x- 1-"},
      // derivatives.yaml: leaky_relu_ and elu_ have is_result formulas.
      {"leaky_relu", "inplace=1", "x:f[8,64]", "f[8,64]", "", "x", "1+2048 g- x- 1-"},
      {"elu", "inplace=1", "x:f[8,64]", "f[8,64]", "", "x", "1+2048 g- x- 1-"},
      // mobilenet_v2 features.0.2: hardtanh_ +12845056 (the clone); efficientnet_b0: silu_; mobilenet_v3_small:
      // hardswish_.
      {"hardtanh", "inplace=1", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      {"silu", "inplace=1", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      {"hardswish", "inplace=1", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-"},
      // Without a tape nothing is cloned; --inplace off takes the module for one that is not in place.
      {"silu", "inplace=1", "x:f[8,64]", "f[8,64]", "", "", "", "infer"},
      {"relu", "inplace=1", "x:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2-", "inplace-off"},
      // A leaf that requires a gradient cannot be written in place.
      {"relu", "inplace=1", "p:f[8,64]", "f[8,64]", "1+2048", "1", "2+2048 g- 1- 2=.grad"},
  });
}

TEST_CASE("activations of several operators") {
  CheckOperators({
      // monai_unet_3d, PreluKernelBackward0: both gradients of the input's size, the weight's is summed and dies first.
      {"prelu", "", "x:f[2,4,8] p:f[4]", "f[2,4,8]", "1+256", "x", "2+256 3+256 4+16 3- g- x- 4=.grad 2-"},
      // torch/nn/functional.py softsign: input / (input.abs() + 1). The divisor's gradient (7) comes first,
      // -grad * ((self / other) / other); |x| saves x; the gradients of x meet in place.
      {"softsign", "", "x:f[8,64]", "f[8,64]", "1+2048 2+2048 1- 3+2048", "x 2",
       "4+2048 5+2048 6+2048 7+2048 6- 5- 4- 8+2048 g- 2- 9+2048 10+2048 9- 7- x- 10- 8-"},
  });
}

}  // namespace
}  // namespace vramplan::testing
