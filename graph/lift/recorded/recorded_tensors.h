// The parameters and buffers that the facts of a file list (graph/ir/facts.h) are those of Layers: what the file lost is
// added, what it only calls a parameter is none, and what is one tensor under two names is one.
//
//   facts   embed.weight trained, head.weight same as embed.weight, pos [1, 512] a buffer
//   file    head.weight, offset                head.weight is embed.weight, offset a constant, pos on the card too
#pragma once

#include "graph/layers/layers.h"

namespace vramplan {

void TakeRecordedTensors(const Facts& facts, Layers* layers);

}  // namespace vramplan
