#include "planner/semantics/cudnn_workspace.h"

#include <algorithm>

namespace vramplan::eager {
namespace {

// Engines that work in NHWC bring operands of NCHW tensors over and take them back: copies of what they read and write.
Bytes LayoutCopies(const ConvolutionCall& call) {
  if (call.filter_window == 1) return call.input + call.output;  // a 1x1 filter is the same in both layouts
  return call.input + call.output + call.filter;
}

// Implicit GEMM with precomputed indices, and split-K partial sums. No source but what cuDNN's heuristics were seen to
// offer when asked, not what a card ran: the largest candidate of each kind, rounded. They end up in the high end only.
constexpr Bytes kSmallEngine = Bytes::KiB(512);
constexpr Bytes kChannelsLastWeightGradient = Bytes::MiB(13);

// One model's rule: on an RTX 3060, not on an RTX 4060 and not at every batch, the weight gradient of MobileNetV2's 1x1
// convolution 320 -> 1280 at 3x3 took one fp32 filter a sample, to be summed afterwards (tests/data/truth/xmem.csv). It
// moves the high end only, and tests/accuracy/xmem_test.cc scores MobileNetV2 without it.
constexpr int64_t kFewPositions = 9;
bool SumsOverSamples(const ConvolutionCall& call) {
  return call.pass == ConvolutionPass::kWeightGradient && call.filter_window == 1 &&
         call.output_positions <= kFewPositions && call.samples > 1;
}

Bytes WorkspaceInFloat32(const ConvolutionCall& call, Capability capability) {
  constexpr int kWinogradTile = 25;  // F(3x3, 3x3): 5 x 5 numbers for each filter of 3x3
  constexpr Bytes kFloat = Bytes::Of(4);
  const bool tf32 = capability >= Capability{8, 0};  // torch.backends.cudnn.allow_tf32 is on unless a script says no
  if (!tf32) {
    return call.filter_window == 9 ? std::max(kSmallEngine, kFloat * call.filter_channels * kWinogradTile)
                                   : kSmallEngine;
  }
  Bytes copies;
  const bool consumer = capability >= Capability{8, 6} && capability < Capability{9, 0};
  if (!consumer || call.filter_window > 1) {
    copies = call.pass == ConvolutionPass::kForward ? call.input + call.filter : LayoutCopies(call);
  }
  const Bytes sums = SumsOverSamples(call) ? kFloat * call.filter_elements * call.samples : Bytes();
  return std::max({copies, sums, kSmallEngine});
}

}  // namespace

Bytes HighestCudnnWorkspace(const ConvolutionCall& call, Capability capability) {
  if (call.channels_last) {
    return call.pass == ConvolutionPass::kWeightGradient ? kChannelsLastWeightGradient : kSmallEngine;
  }
  const bool half = call.type == DType::kFloat16 || call.type == DType::kBFloat16;
  if (half && capability >= Capability{7, 0}) return LayoutCopies(call);  // tensor cores
  return WorkspaceInFloat32(call, capability);
}

}  // namespace vramplan::eager
