// WorkingSet: the bytes that every plan needs at some moment, no matter what it checkpoints: the model, the optimizer's
// state, and the inputs and outputs of its largest operator together.
//
//   VGG19, 16e9 B, SGD: 8 B a parameter and 51.4 MB a sample at relu1_2: no plan holds more than 289 samples
#pragma once

#include <cstdint>
#include <string>

#include "graph/layers/layers.h"
#include "planner/spec/spec.h"

namespace vramplan {

struct WorkingSet {
  Bytes fixed;        // parameters, buffers, optimizer state
  Bytes largest;      // of one operator, beside `fixed`
  std::string layer;  // which one
  Bytes total() const { return fixed + largest; }
};

// Requested bytes, never more than a step needs. `fixed`: from the step's own timeline.
WorkingSet WorkingSetOf(const Layers& layers, const TrainingSpec& spec, Bytes fixed, int64_t batch);

// The largest batch whose working set is within the capacity; 0: not even 1; `limit` at most.
int64_t WorkingSetBatch(const Layers& layers, const TrainingSpec& spec, Bytes fixed, Bytes capacity, int64_t limit);

}  // namespace vramplan
