// Bottleneck: the first request that a capacity refuses, in the words of the model.
//
//   batch 113, backward of step 2: 354.02 MiB for the gradient of /layer1/layer1.0/relu/Relu_output_0, requested by
//   /layer1/layer1.0/conv2/Conv
//
// The JSON calls it "binding" (the constraint that binds). In code, Binding is a class of graph/shapes.
#pragma once

#include <string>

#include "graph/layers/layers.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct Bottleneck {
  int64_t batch = 0;
  int step = 0;  // 0: before the first step
  Phase phase = Phase::kSetup;
  std::string node;    // name of the layer, or the framework's operator if it is not a layer's (optimizer, loss)
  std::string tensor;  // what the memory was for
  Bytes bytes;         // requested
  bool operator==(const Bottleneck&) const = default;
};

// The allocation at timeline.events[event].
Bottleneck DescribeAllocation(const Timeline& timeline, const Layers& layers, int64_t batch, size_t event);

}  // namespace vramplan
