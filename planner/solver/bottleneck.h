// Bottleneck: what did not get its memory: the first request that a capacity refuses, in the words of the model.
//
//   batch 113, backward of step 2: gradient of /layer1/layer1.0/relu/Relu_output_0, 354.02 MiB, asked for by
//   /layer1/layer1.0/conv2/Conv
//
// ("binding" in the JSON: the constraint that binds. In code the word Binding belongs to graph/shapes.)
#pragma once

#include <string>

#include "graph/lift/layers.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

struct Bottleneck {
  int64_t batch = 0;
  int step = 0;  // 0: before the first step
  Phase phase = Phase::kSetup;
  std::string node;    // name of the layer, or the framework's operator where no layer asks (optimizer, loss)
  std::string tensor;  // what the memory was for
  Bytes bytes;         // asked for
  bool operator==(const Bottleneck&) const = default;
};

// The allocation at timeline.events[event].
Bottleneck DescribeAllocation(const Timeline& timeline, const Layers& layers, int64_t batch, size_t event);

}  // namespace vramplan
