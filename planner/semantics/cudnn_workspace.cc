#include "planner/semantics/cudnn_workspace.h"

#include <algorithm>

namespace vramplan::eager {
namespace {

// Engines that work in NHWC bring operands of NCHW tensors over and take them back: copies of what they read and write.
SizeExpr LayoutCopies(const ConvolutionCall& call) {
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
bool SumsOverSamples(const ConvolutionCall& call, int64_t batch) {
  return call.pass == ConvolutionPass::kWeightGradient && call.filter_window == 1 &&
         call.output_positions <= kFewPositions && call.samples.At(batch) > 1;
}

SizeExpr WorkspaceInFloat32(const ConvolutionCall& call, Capability capability, int64_t batch) {
  constexpr int kWinogradTile = 25;  // F(3x3, 3x3): 5 x 5 numbers for each filter of 3x3
  const auto largest = [batch](std::initializer_list<SizeExpr> sizes) {
    return std::max(sizes, [batch](SizeExpr a, SizeExpr b) { return a.At(batch) < b.At(batch); });
  };
  const SizeExpr small = SizeExpr::Constant(kSmallEngine);
  const bool tf32 = capability >= Capability{8, 0};  // torch.backends.cudnn.allow_tf32 is on unless a script says no
  if (!tf32) {
    const SizeExpr winograd = SizeExpr::Of(DType::kFloat32, Dim(call.filter_channels) * Dim(kWinogradTile));
    return call.filter_window == 9 ? largest({small, winograd}) : small;
  }
  SizeExpr copies;
  const bool consumer = capability >= Capability{8, 6} && capability < Capability{9, 0};
  if (!consumer || call.filter_window > 1) {
    copies = call.pass == ConvolutionPass::kForward ? call.input + call.filter : LayoutCopies(call);
  }
  const SizeExpr sums = SumsOverSamples(call, batch)
                            ? SizeExpr::Of(DType::kFloat32, Dim(call.filter_elements) * call.samples)
                            : SizeExpr();
  return largest({copies, sums, small});
}

}  // namespace

SizeExpr HighestCudnnWorkspace(const ConvolutionCall& call, Capability capability, int64_t batch) {
  if (call.channels_last) {
    return SizeExpr::Constant(call.pass == ConvolutionPass::kWeightGradient ? kChannelsLastWeightGradient
                                                                            : kSmallEngine);
  }
  const bool half = call.type == DType::kFloat16 || call.type == DType::kBFloat16;
  if (half && capability >= Capability{7, 0}) return LayoutCopies(call);  // tensor cores
  return WorkspaceInFloat32(call, capability, batch);
}

}  // namespace vramplan::eager
