// The inside of CachingAllocator, shared by its two sources: caching_allocator.cc (requests, pools, segments) and
// expandable_segments.cc (segments that grow by pages). Blocks live in one vector and are linked by index.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/free_blocks.h"

namespace vramplan {

// c10/core/AllocatorConfig.h, PyTorch 2.10 (the same numbers since 1.0 in CUDACachingAllocator.cpp).
inline constexpr int64_t kMinBlockSize = 512;
inline constexpr int64_t kSmallSize = int64_t{1} << 20;       // up to here: small pool
inline constexpr int64_t kSmallBuffer = int64_t{2} << 20;     // segments of the small pool
inline constexpr int64_t kMinLargeAlloc = int64_t{10} << 20;  // from here: a segment of its own
inline constexpr int64_t kRoundLarge = int64_t{2} << 20;

struct CachingAllocator::State {
  static constexpr int32_t kNone = -1;

  struct Block {
    uint64_t address = 0;
    int64_t size = 0;
    int64_t requested = 0;
    int64_t age_base = 0;        // Pool::lookups when it became free
    int32_t previous = kNone;    // in its segment
    int32_t next = kNone;        // in its segment; for an unused slot, the next unused slot
    int32_t expandable = kNone;  // index into `expandables`
    uint8_t pool = 0;            // which of `pools`
    bool small = false;
    bool live = false;
    bool mapped = true;   // false: address space of an expandable segment without memory
    bool in_use = false;  // the slot
    bool IsSplit() const { return previous != kNone || next != kNone; }
  };

  struct Pool {
    FreeBlocks free;
    std::vector<int32_t> unmapped;  // by address
    int64_t lookups = 0;
    uint8_t number = 0;
    bool small = false;
  };

  struct Expandable {
    uint64_t address = 0;
    int64_t size = 0;
    int64_t page = 0;
  };

  State(Bytes capacity_bytes, AllocatorConfig allocator_config, DeviceMemory* device_memory);

  // Sizes.
  int64_t Rounded(int64_t size) const;
  int64_t SegmentSize(int64_t size) const;
  bool ShouldSplit(const Block& block, int64_t size) const;
  // `set_fraction` in PyTorch: a threshold without a fraction below 1 does nothing (measured on 2.10: streams recorded
  // with threshold 0.6 alone, and 0.5 with fraction 1.0, are those of the default; with 0.9 they are not).
  bool HasFraction() const { return config.per_process_memory_fraction < 1; }
  bool CollectsGarbage() const { return HasFraction() && config.garbage_collection_threshold > 0; }

  // Blocks.
  int32_t NewBlock(uint64_t address, int64_t size, uint8_t pool);
  void DropBlock(int32_t block);
  void InsertFree(int32_t block);
  // Merges `source` into its neighbour if that is free and mapped alike.
  void TryMerge(int32_t block, int32_t source);
  Pool& PoolOf(const Block& block) { return pools[block.pool]; }

  // The steps of a request; kNone: this step found no block.
  int32_t TakeFree(Pool& pool, int64_t size);
  int32_t NewSegment(Pool& pool, int64_t size);
  void CollectGarbage();
  bool ReleaseOversize(Pool& pool, int64_t size);
  void ReleaseCached();
  void ReleaseSegments(Pool& pool);
  void ReleaseSegment(int32_t block);

  // The device.
  bool TakeFromDevice(int64_t size);
  // The address of a new segment; nothing: the card is full, even if the count says otherwise.
  std::optional<uint64_t> TakeSegment(int64_t size);
  void GiveToDevice(int64_t size);
  uint64_t TakeAddresses(int64_t size);

  // Expandable segments.
  int32_t GrowExpandable(Pool& pool, int64_t size);
  int32_t FindExpandable(Pool& pool, int64_t size);
  bool MapBlock(int32_t block, int64_t size);
  void UnmapBlock(int32_t block);
  void InsertUnmapped(int32_t block);
  void RemoveUnmapped(int32_t block);

  AllocatorConfig config;
  DeviceMemory* device = nullptr;  // null: only counted
  int64_t max_split_size = 0;
  int64_t capacity = 0;
  int64_t allowed = 0;      // per_process_memory_fraction of the capacity
  int64_t device_used = 0;  // what the driver counts; equals `reserved`
  uint64_t next_address = 0;
  std::vector<Block> blocks;
  int32_t first_unused = kNone;
  std::array<Pool, size_t{2} * kStreams> pools;  // of each stream the small one, then the large one
  std::vector<Expandable> expandables;
  AllocatorStatistics statistics;
};

}  // namespace vramplan
