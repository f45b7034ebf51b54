#include "planner/solver/steady_step.h"

#include <map>

namespace vramplan {

SteadyStep ReadSteadyStep(const Timeline& timeline, size_t layers) {
  SteadyStep step(layers);
  int64_t level = 0;
  bool after_forward = false;
  std::map<BlockId, size_t> alive;  // made by a layer in the forward of this step
  for (const Event& event : timeline.events) {
    const int64_t bytes = event.block.valid() ? timeline[event.block].bytes.At(timeline.batch).count() : 0;
    if (event.kind == EventKind::kAllocate) level += bytes;
    if (event.kind == EventKind::kFree) level -= bytes;
    if (event.step != timeline.steps) continue;
    const size_t at = step.levels.size();
    step.levels.push_back(level);
    if (event.kind == EventKind::kAfterForward && !after_forward) {
      after_forward = true;
      for (const auto& [block, layer] : alive)
        step.saved[layer].push_back(timeline[block].bytes.At(timeline.batch).count());
    }
    if (event.origin.layer < 0 || static_cast<size_t>(event.origin.layer) >= layers) continue;
    const size_t layer = static_cast<size_t>(event.origin.layer);
    if (event.phase == Phase::kForward) {
      if (event.kind == EventKind::kAllocate && event.category == Category::kActivations) alive[event.block] = layer;
      if (step.forward_begin[layer] == kNever) step.forward_begin[layer] = at;
      step.forward_end[layer] = at;
    } else if (event.phase == Phase::kBackward && step.backward_begin[layer] == kNever) {
      step.backward_begin[layer] = at;
    }
    if (event.kind == EventKind::kFree && !after_forward) alive.erase(event.block);
  }
  return step;
}

}  // namespace vramplan
