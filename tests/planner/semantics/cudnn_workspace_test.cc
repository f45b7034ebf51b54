#include "planner/semantics/cudnn_workspace.h"

#include <doctest/doctest.h>

namespace vramplan::eager {
namespace {

using enum ConvolutionPass;

// 8 samples, 64 -> 128 channels, 3x3, 7x7 positions.
ConvolutionCall Convolution(ConvolutionPass pass, DType type = DType::kFloat32) {
  ConvolutionCall call;
  call.pass = pass;
  call.type = type;
  call.input = SizeExpr::Constant(Bytes::MiB(16));
  call.output = SizeExpr::Constant(Bytes::MiB(32));
  call.filter = SizeExpr::Constant(Bytes::MiB(2));
  call.samples = 8;
  call.filter_elements = 64 * 128 * 9;
  call.filter_channels = 64 * 128;
  call.filter_window = 9;
  call.output_positions = 49;
  return call;
}

TEST_CASE("the high end of a convolution's workspace, by type, layout and capability") {
  struct Row {
    const char* what;
    ConvolutionCall call;
    Capability capability;
    Bytes highest;
  };
  ConvolutionCall last = Convolution(kWeightGradient, DType::kFloat16);
  last.channels_last = true;
  ConvolutionCall last_forward = last;
  last_forward.pass = kForward;
  ConvolutionCall pointwise = Convolution(kForward);
  pointwise.filter_window = 1;
  ConvolutionCall half_pointwise = pointwise;
  half_pointwise.type = DType::kBFloat16;
  ConvolutionCall head = pointwise;
  head.pass = kWeightGradient;
  head.filter_elements = 320 * 1280;
  head.output_positions = 9;
  head.samples = 317;
  const Row kRows[] = {
      {"half types on tensor cores: copies in NHWC of all",
       Convolution(kForward, DType::kFloat16),
       {7, 5},
       Bytes::MiB(50)},
      {"a 1x1 filter needs no copy", half_pointwise, {8, 0}, Bytes::MiB(48)},
      {"channels last is there already", last_forward, {8, 0}, Bytes::KiB(512)},
      {"but for its weight gradient", last, {8, 0}, Bytes::MiB(13)},
      {"TF32, A100, forward", Convolution(kForward), {8, 0}, Bytes::MiB(18)},
      {"TF32, A100, gradients", Convolution(kInputGradient), {8, 0}, Bytes::MiB(50)},
      {"TF32, consumer card", Convolution(kWeightGradient), {8, 9}, Bytes::MiB(50)},
      {"TF32, consumer card, 1x1", pointwise, {8, 6}, Bytes::KiB(512)},
      {"a filter a sample: MobileNetV2's head at batch 317", head, {8, 6}, Bytes::Of(int64_t{317} * 320 * 1280 * 4)},
      {"Winograd without TF32", Convolution(kForward), {7, 5}, Bytes::Of(25 * 64 * 128 * 4)},
      {"1x1 without TF32", pointwise, {7, 5}, Bytes::KiB(512)},
  };
  for (const Row& row : kRows) {
    CAPTURE(row.what);
    CHECK_EQ(HighestCudnnWorkspace(row.call, row.capability, 1).At(1), row.highest);
  }
}

TEST_CASE("one sample has nothing to sum over, also where a layout at batch 1 stands for the batches around it") {
  ConvolutionCall head = Convolution(kWeightGradient);
  head.filter_window = 1;
  head.filter_elements = 320 * 1280;
  head.output_positions = 9;
  head.input = head.output = head.filter = SizeExpr();
  head.samples = Dim::Batch();
  CHECK_EQ(HighestCudnnWorkspace(head, {8, 6}, 1).At(1), Bytes::KiB(512));
  CHECK_EQ(HighestCudnnWorkspace(head, {8, 6}, 317).At(317), Bytes::Of(int64_t{317} * 320 * 1280 * 4));
}

}  // namespace
}  // namespace vramplan::eager
