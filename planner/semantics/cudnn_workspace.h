// What a convolution asks of cuDNN's heuristics, and the most that the engine they pick may want as workspace. PyTorch
// takes the block right before the kernel and frees it right after (cudnn/Conv_v8.cpp).
//
// Which engine that is cannot be read from a graph. On measured cards (RTX 3060 and 4060, fp32, tests/accuracy/
// xmem_test.cc) *no* workspace is closer than every formula tried, so that is the likely value, and the formulas here
// are the high end of a band.
//
//   1 KiB of input, output and filter each, fp32:   capability 8.0, TF32: forward 2 KiB (x + w), gradients 3 KiB
//                                                   capability 7.5, 3x3, 16 -> 16 channels: 25.6 kB (Winograd)
#pragma once

#include "graph/ir/dtype.h"
#include "graph/ir/size_expr.h"
#include "planner/spec/measured_workspaces.h"
#include "planner/spec/spec.h"

namespace vramplan::eager {

struct ConvolutionCall {
  ConvolutionPass pass = ConvolutionPass::kForward;
  DType type = DType::kFloat32;
  SizeExpr input, output, filter;  // of the forward, whatever the pass
  Dim samples = 1;
  int64_t filter_elements = 0;
  int64_t filter_channels = 0;   // input channels of a group times output channels
  int64_t filter_window = 1;     // 9 of 3x3
  int64_t output_positions = 1;  // of one channel of one sample: 49 of 7x7
  bool channels_last = false;
};

// What --cudnn-workspace auto stands for at the high end of the band, at this batch and those around it.
SizeExpr HighestCudnnWorkspace(const ConvolutionCall& call, Capability capability, int64_t batch);

}  // namespace vramplan::eager
