// Player: drives an allocator with the events of a timeline, one after the other. Replay and its relatives are loops
// over it; who wants to see more of the allocator while it works writes one more.
//
//   Player player(timeline, batch, config, capacity);
//   for (const Event& event : timeline.events) player.Play(event);      player.levels() after each
#pragma once

#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "graph/base/check.h"
#include "planner/allocator/replay.h"

namespace vramplan {

// Drives the allocator with the events of a timeline, one after the other.
class Player {
  // The allocator that the config chose.
  template <typename Do>
  auto With(Do what) {
    if (auto* caching = std::get_if<CachingAllocator>(&allocator_)) return what(*caching);
    return what(std::get<BfcArena>(allocator_));
  }

 public:
  Player(const Timeline& timeline, int64_t batch, const AllocatorConfig& config, Bytes capacity,
         DeviceMemory* device = nullptr)
      : timeline_(timeline), batch_(batch), handles_(timeline.blocks.size(), -1) {
    if (config.bfc) {
      VRAMPLAN_CHECK(device == nullptr);
      allocator_.emplace<BfcArena>(capacity, *config.bfc);
    } else {
      allocator_.emplace<CachingAllocator>(capacity, config, device);
    }
  }

  // False: out of memory. `allocated` is the block of the event, if it has one.
  bool Play(const Event& event, std::optional<Allocation>* allocated = nullptr) {
    if (event.kind == EventKind::kAllocate) {
      EmptyCacheAfterModel(event);
      const Block& block = timeline_[event.block];
      const Bytes bytes = block.bytes.At(batch_);
      auto* caching = std::get_if<CachingAllocator>(&allocator_);
      const std::optional<Allocation> allocation = caching != nullptr ? caching->Allocate(bytes, block.origin.stream)
                                                                      : std::get<BfcArena>(allocator_).Allocate(bytes);
      if (!allocation) return timeline_[event.block].optional;
      handles_[static_cast<size_t>(event.block.value)] = allocation->handle;
      if (allocated != nullptr && allocation->handle >= 0) *allocated = allocation;
    } else if (event.kind == EventKind::kFree) {
      const int32_t handle = std::exchange(handles_[static_cast<size_t>(event.block.value)], -1);
      With([&](auto& allocator) { allocator.Free(handle); });
    } else if (event.kind == EventKind::kEmptyCache) {
      if (auto* caching = std::get_if<CachingAllocator>(&allocator_)) caching->EmptyCache();
    }
    const AllocatorStatistics& now = statistics();
    VRAMPLAN_CHECK(now.requested <= now.allocated && now.allocated <= now.reserved);
    return true;
  }
  const AllocatorStatistics& statistics() const {
    if (const auto* caching = std::get_if<CachingAllocator>(&allocator_)) return caching->statistics();
    return std::get<BfcArena>(allocator_).statistics();
  }
  Levels levels() const { return {statistics().requested, statistics().allocated, statistics().reserved}; }

  PeakSegments Picture() const {
    PeakSegments picture;
    if (const auto* caching = std::get_if<CachingAllocator>(&allocator_)) {
      picture.segments = caching->Snapshot();
    } else {
      picture.segments = std::get<BfcArena>(allocator_).Snapshot();
    }
    for (size_t block = 0; block < handles_.size(); ++block) {
      if (handles_[block] < 0) continue;
      const auto handle = static_cast<size_t>(handles_[block]);
      if (picture.owners.size() <= handle) picture.owners.resize(handle + 1);
      picture.owners[handle] = BlockId{static_cast<int32_t>(block)};
    }
    return picture;
  }

 private:
  void EmptyCacheAfterModel(const Event& event) {
    const Category category = timeline_[event.block].category;
    if (emptied_ || (event.step == 0 && (category == Category::kParameters || category == Category::kBuffers))) return;
    if (auto* caching = std::get_if<CachingAllocator>(&allocator_)) caching->EmptyCache();
    emptied_ = true;
  }
  const Timeline& timeline_;
  int64_t batch_;
  std::variant<std::monostate, CachingAllocator, BfcArena> allocator_;
  std::vector<int32_t> handles_;  // by BlockId
  bool emptied_ = false;
};

}  // namespace vramplan
