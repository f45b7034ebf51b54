// ClassAxis: along which axis of an output of three axes the classes lie. cross_entropy itself takes axis 1 of three
// (torch.nn.CrossEntropyLoss, [N, C, d1]); scripts of token logits flatten positions first. What made the output tells:
//
//   linear                 [B, tokens, classes]   2
//   conv1d, batch_norm     [B, classes, length]   1
//   linear, transpose      [B, classes, tokens]   1
//   log_softmax(dim=1)     [B, classes, length]   1
//
// 2 where nothing tells.
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

int ClassAxis(const Layers& layers, ValueId output);

}  // namespace vramplan
