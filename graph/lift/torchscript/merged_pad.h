// MergedPad: onnxscript gives a constant pad to the convolution behind it (rewriter rule FuseConvPad): "same" padding
// of TensorFlow's models, one more row at the end. In the framework it made a tensor of its own.
//
//   conv2d(pad(x, [0, 1, 0, 1]), w)      Conv <pads = [0, 0, 1, 1]> (x, w)      ->   pad, conv2d
#pragma once

#include <vector>

#include "graph/layers/builder.h"

namespace vramplan {

// The convolution's data operand: `input` padded by a layer that is added here, or `input` itself where nothing was
// merged. `own`: what the convolution pads by itself, by axis; empty where its text is gone: nothing (timm's
// Conv2dSame, transformers' apply_tf_padding).
ValueId LiftMergedPad(const Node& convolution, ValueId input, const std::vector<int64_t>& own, const ModulePath& path,
                      NodeId position, LayerBuilder& builder);

}  // namespace vramplan
