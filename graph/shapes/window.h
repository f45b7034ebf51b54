// Window: a kernel sliding over the spatial axes of [N, C, ...]: what convolutions and poolings share.
//
//   length 224, kernel 7, stride 2, pads 3 + 3, dilation 1:  floor((224 + 6 - 7) / 2) + 1 = 112
#pragma once

#include <vector>

#include "graph/shapes/rule.h"

namespace vramplan {

struct Window {
  std::vector<int64_t> kernel, strides, dilations, pads;  // pads: begin of each axis, then end of each
  bool same = false;  // auto_pad SAME_UPPER or SAME_LOWER: pads are what keeps ceil(length / stride)
};

// Reads kernel_shape (or `kernel` where the attribute is absent), strides, dilations, pads and auto_pad; fails on lists
// of the wrong size and on numbers below 1 (pads below 0).
std::optional<Window> WindowOf(NodeInference& n, int spatial_axes, const std::vector<int64_t>& kernel);

// Output length of axis `axis` (counted among the spatial ones). `ceil_mode` rounds up, but no window starts in the
// padding behind the input.
Dim Slid(const Window& window, size_t axis, Dim length, bool ceil_mode);

}  // namespace vramplan
