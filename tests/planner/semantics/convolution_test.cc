#include <doctest/doctest.h>

#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

using eager::Tensor;

TEST_CASE("convolutions") {
  CheckOperators({
      // alexnet, ConvolutionBackward0: input, weight, bias' sum, -gradient -saved.
      {"conv2d", "", "x:f[2,3,8,8] p:f[4,3,3,3] p:f[4]", "f[2,4,8,8]", "1+2048", "x",
       "2+1536 3+432 4+16 g- x- 3=.grad 4=.grad 2-"},
      {"conv2d", "", "x:f[2,3,8,8] p:f[4,3,3,3] -", "f[2,4,8,8]", "1+2048", "x", "2+1536 3+432 g- x- 3=.grad 2-"},
      // alexnet features.0: images have no gradient: weight and bias alone.
      {"conv2d", "", "c:f[2,3,8,8] p:f[4,3,3,3] p:f[4]", "f[2,4,8,8]", "1+2048", "c",
       "2+432 3+16 g- c- 2=.grad 3=.grad"},
      {"conv3d", "", "x:f[1,3,4,4,4] p:f[2,3,3,3,3] p:f[2]", "f[1,2,4,4,4]", "1+512", "x",
       "2+768 3+648 4+8 g- x- 3=.grad 4=.grad 2-"},
      // efficientnet_b0 features.1.0.block.0.0, conv2d/resize_: PyTorch's own kernel; the weight first ("+41472
      // +1806336").
      {"conv2d", "groups=4", "x:f[2,4,8,8] p:f[4,1,3,3] -", "f[2,4,8,8]", "1+2048", "x",
       "2+144 3+2048 g- x- 2=.grad 3-"},
      // The same in fp16 from 32 channels on, width 7 or more: cuDNN's, the input first (mobilenet_v3_small
      // features.11.block.1.0 under autocast); with a stride of 2 only from 512 channels on.
      {"conv2d", "groups=32", "x:h[2,32,8,8] p:h[32,1,3,3] -", "h[2,32,8,8]", "1+8192", "x",
       "2+8192 3+576 g- x- 3=.grad 2-"},
      {"conv2d", "groups=16", "x:h[2,16,8,8] p:h[16,1,3,3] -", "h[2,16,8,8]", "1+4096", "x",
       "2+288 3+4096 g- x- 2=.grad 3-"},
      {"conv2d", "groups=32", "x:y[2,32,8,8] p:y[32,1,3,3] -", "y[2,32,8,8]", "1+8192", "x",
       "2+576 3+8192 g- x- 2=.grad 3-"},
      {"conv2d", "groups=32", "x:h[2,32,6,6] p:h[32,1,3,3] -", "h[2,32,6,6]", "1+4608", "x",
       "2+576 3+4608 g- x- 2=.grad 3-"},
      {"conv2d", "groups=32 stride=[2,2]", "x:h[2,32,8,8] p:h[32,1,3,3] -", "h[2,32,4,4]", "1+2048", "x",
       "2+576 3+8192 g- x- 2=.grad 3-"},
      {"conv2d", "groups=32 stride=[2,2]", "x:h[1,32,8,8] p:h[32,1,3,3] -", "h[1,32,4,4]", "1+1024", "x",
       "2+4096 3+576 g- x- 3=.grad 2-"},
      {"conv2d", "groups=512 stride=[2,2]", "x:h[2,512,8,8] p:h[512,1,3,3] -", "h[2,512,4,4]", "1+32768", "x",
       "2+131072 3+9216 g- x- 3=.grad 2-"},
      {"conv2d", "groups=32 dilation=[2,2]", "x:h[2,32,8,8] p:h[32,1,3,3] -", "h[2,32,8,8]", "1+8192", "x",
       "2+576 3+8192 g- x- 2=.grad 3-"},
      // unet: conv_transpose2d: input, weight, sum.
      {"conv_transpose2d", "stride=[2,2]", "x:f[2,8,4,4] p:f[8,4,2,2] p:f[4]", "f[2,4,8,8]", "1+2048", "x",
       "2+1024 3+512 4+16 g- x- 3=.grad 4=.grad 2-"},
      // dcgan_generator main.0: noise without a gradient.
      {"conv_transpose2d", "", "c:f[2,8,1,1] p:f[8,4,4,4] -", "f[2,4,4,4]", "1+512", "c", "2+2048 g- c- 2=.grad"},
      // convnext_tiny features.2.1, "+2818048 cudnn_convolution +294912 empty": the weight is copied into the input's
      // layout; so it is in the
      // backward, and AccumulateGrad copies the gradient back (new_empty_strided).
      {"conv2d", "stride=[2,2]", "x:f[2,4,8,8]@0,2,3,1 p:f[8,4,2,2] p:f[8]", "f[2,8,4,4]", "1+1024 2+512 2-", "x",
       "3+2048 4+512 4- 5+512 6+32 g- x- 7+512 7=.grad 5- 6=.grad 3-"},
      // convnext_tiny features.1.0: depthwise with the channels fastest is cuDNN's; one channel a filter lies either
      // way: no copies.
      {"conv2d", "groups=4", "x:f[2,4,8,8]@0,2,3,1 p:f[4,1,3,3] p:f[4]", "f[2,4,8,8]", "1+2048", "x",
       "2+2048 3+144 4+16 g- x- 3=.grad 4=.grad 2-"},
      // textcnn convs.0, "+1048576 conv1d/empty +806400 cudnn_convolution": a transposed input is copied, in both
      // directions
      // ("+empty +input +weight +sum -copy -gradient").
      {"conv1d", "", "x:f[2,8,16]@0,2,1 p:f[4,8,3] p:f[4]", "f[2,4,14]", "1+1024 2+448 1-", "x",
       "3+1024 4+1024 5+384 6+16 3- g- x- 5=.grad 6=.grad 4-"},
  });
}

TEST_CASE(
    "convolutions over one axis see their input through views below the tape: gradients of a shared input meet in "
    "place") {
  // textcnn: three conv1d of one transposed embedding; no "add" between their ConvolutionBackward0.
  Trial trial;
  Tensor x = trial.Given("x:f[2,8,16]", "x");
  const Tensor w = trial.Given("c:f[4,8,3]", "w");
  Tensor a = trial.Run1("conv1d", "", {x, w, Tensor()}, "f[2,4,14]"),
         b = trial.Run1("conv1d", "", {x, w, Tensor()}, "f[2,4,14]");
  CHECK(trial.Events() == "1+448 2+448");
  Tensor loss = trial.LossOf({a, b});
  x = a = b = Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "3+1024 g2- 4+1024 g- x- 4- 3-");
}

TEST_CASE("measured workspaces take the place of the guess") {
  const auto measured = std::make_shared<MeasuredWorkspaces>();
  measured->Add({ConvolutionPass::kForward, DType::kFloat32, false, {2, 3, 8, 8}, {4, 3, 3, 3}, {2, 4, 8, 8}},
                Bytes::Of(4096));
  TrainingSpec spec = SpecFromWords("infer");
  spec.cudnn_workspace.reset();
  spec.measured_workspaces = measured;
  Trial trial(spec);
  const Tensor x = trial.Given("c:f[2,3,8,8]", "x"), w = trial.Given("c:f[4,3,3,3]", "w");
  const Tensor y = trial.Run1("conv2d", "", {x, w, Tensor()}, "f[2,4,8,8]");
  CHECK(trial.Events() == "1+2048 2+4096 2-");
}

TEST_CASE("a gradient with gaps is copied for the input and again for the weight") {
  // densenet121, "+100352 convolution_backward +25088 empty -25088 +25088 empty +147456 empty -25088": half of a
  // concatenation.
  Trial trial;
  Tensor x = trial.Given("x:f[2,3,8,8]", "x"), other = trial.Given("c:f[2,4,8,8]", "other");
  const Tensor w = trial.Given("p:f[4,3,3,3]", "w");
  Tensor y = trial.Run1("conv2d", "", {x, w, Tensor()}, "f[2,4,8,8]");
  Tensor both = trial.Run1("cat", "dim=1", {y, other}, "f[2,8,8,8]");
  CHECK(trial.Events() == "1+2048 2+4096");
  Tensor loss = trial.LossOf({both});
  x = y = both = Tensor();
  trial.Events();
  CHECK(trial.Backward(loss) == "3+1536 4+2048 4- 5+2048 6+432 5- g- x- 6=.grad 3-");
}

}  // namespace
}  // namespace vramplan::testing
