#include "planner/timeline/recorder.h"

#include <algorithm>
#include <utility>

namespace vramplan {

void Recorder::Level::Follow(EventKind kind, BlockId block) {
  if (kind == EventKind::kAllocate) now += blocks[static_cast<size_t>(block.value)];
  if (kind == EventKind::kFree) now -= blocks[static_cast<size_t>(block.value)];
}

void Recorder::Push(EventKind kind, Category category, BlockId block) {
  if (stopped_) return;
  ++events_;
  if (level_) {
    const Bytes before = level_->now;
    level_->Follow(kind, block);
    if (step_ > 0) level_->peaks.Raise(phase_, std::max(before, level_->now));
    return;
  }
  const Origin at_work = at_work_ != nullptr ? *at_work_ : Origin();
  timeline_.events.push_back({kind, phase_, category, static_cast<int8_t>(step_), block, at_work});
}

BlockId Recorder::Allocate(SizeExpr bytes, Category category, const Origin& origin) {
  const size_t count = level_ ? level_->blocks.size() : timeline_.blocks.size();
  const BlockId id{static_cast<int32_t>(count)};
  if (level_) level_->blocks.push_back(bytes.At(level_->batch));
  if (!level_ || bytes == SizeExpr::Saturated())
    timeline_.blocks.push_back({.bytes = bytes, .category = category, .origin = origin});
  Push(EventKind::kAllocate, category, id);
  return id;
}

BlockId Recorder::AllocateUpTo(SizeExpr likely, SizeExpr most, Category category, const Origin& origin) {
  const BlockId id = Allocate(likely, category, origin);
  if (most != likely && !level_) timeline_.blocks.back().most = most;
  return id;
}

void Recorder::Free(BlockId block) {
  if (!stopped_) Push(EventKind::kFree, level_ ? Category::kTemporaries : timeline_[block].category, block);
}

void Recorder::Retag(BlockId block, Category category) { Push(EventKind::kRetag, category, block); }

void Recorder::Mark(EventKind mark) { Push(mark, Category::kTemporaries, BlockId()); }

void Recorder::Enter(int step, Phase phase) {
  step_ = step;
  phase_ = phase;
}

Phase Recorder::Enter(Phase phase) { return std::exchange(phase_, phase); }

}  // namespace vramplan
