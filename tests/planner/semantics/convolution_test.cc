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
      // Pooled images of a net in channels last, [C, 1, C, C] (recorded with 2.10): the same.
      {"conv2d", "padding=[1,1]", "x:f[4,32,1,1]@0,2,3,1 p:f[16,32,3,3]", "f[4,16,1,1]", "1+256 2+18432 2-", "x",
       "3+512 4+18432 4- 5+18432 g- x- 6+18432 6=.grad 5- 3-"},
      // convnext_tiny features.1.0: depthwise with the channels fastest is cuDNN's; one channel a filter lies either
      // way: no copies.
      {"conv2d", "groups=4", "x:f[2,4,8,8]@0,2,3,1 p:f[4,1,3,3] p:f[4]", "f[2,4,8,8]", "1+2048", "x",
       "2+2048 3+144 4+16 g- x- 3=.grad 4=.grad 2-"},
      // textcnn convs.0, "+1048576 conv1d/empty +806400 cudnn_convolution": a transposed input is copied, in both
      // directions ("+empty +input +weight +sum -copy -gradient").
      {"conv1d", "", "x:f[2,8,16]@0,2,1 p:f[4,8,3] p:f[4]", "f[2,4,14]", "1+1024 2+448 1-", "x",
       "3+1024 4+1024 5+384 6+16 3- g- x- 5=.grad 6=.grad 4-"},
  });
}

TEST_CASE("convolutions that cuDNN does not take: columns of one sample, groups one after the other") {
  // Streams of PyTorch 2.10 on a card of capability 7.5, two samples where there were three.
  CheckOperators({
      {"conv2d", "padding=[1,1]", "x:y[2,16,20,20] p:y[32,16,3,3] p:y[32]", "y[2,32,20,20]",
       "1+51200 2+115200 3+8519680 2-", "x 3", "4+25600 5+115200 6+8519680 7+64 8+9216 5- g- x- 8=.grad 7=.grad 4-"},
      {"conv2d", "", "x:y[2,16,20,20] p:y[32,16,1,1] -", "y[2,32,20,20]", "1+51200 2+8519680", "x 2",
       "3+25600 4+12800 5+8519680 6+1024 4- g- x- 6=.grad 3-"},
      {"conv2d", "padding=[2,2] dilation=[2,2]", "x:y[2,16,20,20] p:y[32,16,3,3] p:y[32]", "y[2,32,20,20]",
       "1+51200 2+115200 3+8519680 2-", "x 3",
       "4+25600 5+9216 6+64 7+115200 8+8519680 9+64 9- 7- g- x- 5=.grad 6=.grad 4-"},
      {"conv2d", "padding=[1,1] groups=2", "x:y[2,16,20,20] p:y[32,8,3,3] p:y[32]", "y[2,32,20,20]",
       "1+12800 2+25600 3+57600 4+8519680 3- 1- 5+12800 6+25600 7+57600 7- 5- 8+51200 2- 6-", "x 4",
       "9+25600 10+12800 11+12800 12+57600 13+8519680 14+32 15+2304 12- 10- 9- 16+25600 17+12800 18+12800 19+57600 "
       "20+32 21+2304 19- 17- 16- 22+25600 23+4608 24+64 14- 20- 15- 21- 11- 18- g- x- 23=.grad 24=.grad 22-"},
      {"conv3d", "padding=[1,1,1]", "c:y[2,16,10,10,10] p:y[32,16,3,3,3] -", "y[2,32,10,10,10]",
       "1+128000 2+864000 3+8519680 2-", "c 3", "4+27648 5+864000 6+8519680 5- g- c- 4=.grad"},
      {"conv3d", "padding=[1,1,1] groups=16", "x:f[2,16,10,10,10] p:f[16,1,3,3,3] p:f[16]", "f[2,16,10,10,10]",
       "1+128000", "x", "2+128000 3+1728 4+64 g- x- 3=.grad 4=.grad 2-"},
      {"conv_transpose2d", "stride=[2,2] padding=[1,1]", "x:y[2,16,20,20] p:y[16,32,4,4] p:y[32]", "y[2,32,40,40]",
       "1+204800 2+409600 3+3200 4+8519680 3- 2-", "x 4",
       "5+25600 6+409600 7+8519680 6- 8+16384 9+64 10+409600 10- g- x- 8=.grad 9=.grad 5-"},
      {"conv_transpose2d", "", "x:y[2,16,20,20] p:y[16,32,1,1] p:y[32]", "y[2,32,20,20]",
       "1+51200 2+25600 3+800 4+8519680 3- 2-", "x 4", "5+25600 6+8519680 7+1024 8+64 g- x- 7=.grad 8=.grad 5-"},
      {"conv_transpose3d", "stride=[2,2,2] padding=[1,1,1]", "x:y[2,16,6,6,6] p:y[16,32,4,4,4] p:y[32]",
       "y[2,32,12,12,12]", "1+13824 2+221184 1- 3+884736 4+3456 5+8519680 4- 3-", "x 5",
       "6+13824 7+884736 8+8519680 7- 9+65536 10+64 11+884736 11- g- x- 9=.grad 10=.grad 6-"},
      // monai_unet_3d, amp-bf16: fewer channels than the input has places: the resized output keeps the larger block.
      {"conv_transpose3d", "stride=[2,2,2] padding=[1,1,1]", "c:y[2,16,6,6,6] p:y[16,1,4,4,4] -", "y[2,1,12,12,12]",
       "1+13824 2+27648 3+8519680 2-", "c 3", "4+2048 5+27648 6+8519680 5- g- c- 4=.grad"},
      {"conv_transpose2d", "dilation=[2,2] output_padding=[1,1]", "c:f[2,16,20,20] p:f[16,32,3,3] -", "f[2,32,25,25]",
       "1+160000 2+460800 3+8519680 2-", "c 3", "4+18432 5+460800 6+8519680 5- g- c- 4=.grad"},
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
