// SteadyStep: the last step of a timeline, layer by layer.
//
//   events      0 1 2 3 | 4 5 6        relu: forward_begin 1, forward_end 2, backward_begin 5, saved {4096}
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "planner/timeline/timeline.h"

namespace vramplan {

inline constexpr size_t kNever = std::numeric_limits<size_t>::max();

// Events are counted from the step's first one.
struct SteadyStep {
  std::vector<int64_t> levels;                                     // requested, after each event
  std::vector<size_t> forward_begin, forward_end, backward_begin;  // by layer; kNever: nothing happens there
  std::vector<std::vector<int64_t>> saved;  // by layer: what it made in the forward and the backward finds

  explicit SteadyStep(size_t layers)
      : forward_begin(layers, kNever), forward_end(layers, kNever), backward_begin(layers, kNever), saved(layers) {}
};

SteadyStep ReadSteadyStep(const Timeline& timeline, size_t layers);

}  // namespace vramplan
