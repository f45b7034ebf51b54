#include "planner/timeline/recorder.h"

#include <utility>

namespace vramplan {

void Recorder::Push(EventKind kind, Category category, BlockId block) {
  if (stopped_) return;
  const Origin at_work = at_work_ != nullptr ? *at_work_ : Origin();
  timeline_.events.push_back({kind, phase_, category, static_cast<int8_t>(step_), block, at_work});
}

BlockId Recorder::Allocate(SizeExpr bytes, Category category, const Origin& origin) {
  const BlockId id{static_cast<int32_t>(timeline_.blocks.size())};
  timeline_.blocks.push_back({.bytes = bytes, .category = category, .origin = origin});
  Push(EventKind::kAllocate, category, id);
  return id;
}

BlockId Recorder::AllocateUpTo(SizeExpr likely, SizeExpr most, Category category, const Origin& origin) {
  const BlockId id = Allocate(likely, category, origin);
  if (most != likely) timeline_.blocks.back().most = most;
  return id;
}

void Recorder::Free(BlockId block) {
  if (!stopped_) Push(EventKind::kFree, timeline_[block].category, block);
}

void Recorder::Retag(BlockId block, Category category) { Push(EventKind::kRetag, category, block); }

void Recorder::Mark(EventKind mark) { Push(mark, Category::kTemporaries, BlockId()); }

void Recorder::Enter(int step, Phase phase) {
  step_ = step;
  phase_ = phase;
}

Phase Recorder::Enter(Phase phase) { return std::exchange(phase_, phase); }

}  // namespace vramplan
