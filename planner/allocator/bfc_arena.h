// BfcArena: best fit with coalescing, the allocator of ONNX Runtime (core/framework/bfc_arena.cc, 1.31), TensorFlow and
// JAX (xla/tsl/framework/bfc_allocator.cc). They share rounding, search, splitting and merging; they differ in how the
// arena grows and when.
//
//   request        chunk                                    regions of kNextPowerOfTwo, from 1 MiB on
//   40 B           256 B (multiple of 256), split off       1 MiB
//   2.25 MiB       4 MiB: it is not split, because it is    4 MiB, the first doubling that is enough
//                  less than twice the request, and less
//                  than 128 MiB would be left over
//   4 MiB          8 MiB, the same                          8 MiB: the next one is at least twice as large
//
// The bins of the sources only speed up the search for the smallest free chunk that is large enough, lowest address
// first; here one ordered set does that. Reserved is what the device gave; for a pool that is taken whole it is the
// part that was ever used, because the rest is a setting, not a need.
//
// Invariant: requested <= allocated <= reserved <= min(capacity, limit); neighbouring free chunks are merged.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "planner/allocator/free_blocks.h"
#include "planner/allocator/segment.h"

namespace vramplan {

enum class BfcGrowth : uint8_t {
  kNextPowerOfTwo,   // regions double until one holds the request; after one that did not have to, the next doubles
  kSameAsRequested,  // a region is the request
  kWholePool,        // one region, as large as the limit, taken at the first request
};

struct BfcConfig {
  BfcGrowth growth = BfcGrowth::kNextPowerOfTwo;
  Bytes first_region = Bytes::MiB(1);      // ONNX Runtime: initial_chunk_size_bytes; TensorFlow: 2 MiB
  Bytes largest_doubling = Bytes::GiB(1);  // ONNX Runtime: max_power_of_two_extend_bytes; TensorFlow: none
  Bytes most_unsplit = Bytes::MiB(128);    // ONNX Runtime: max_dead_bytes_per_chunk; TensorFlow: the same
  Bytes limit = Bytes::Max();              // ONNX Runtime: gpu_mem_limit
  bool releases_regions = false;           // TensorFlow: gives back wholly free regions when the device is full
  bool operator==(const BfcConfig&) const = default;
};

class BfcArena {
 public:
  using Handle = int32_t;

  BfcArena(Bytes capacity, const BfcConfig& config);

  // Nothing: out of memory. Zero bytes take no chunk: handle -1.
  std::optional<Allocation> Allocate(Bytes bytes);
  // -1 does nothing.
  void Free(Handle handle);
  const AllocatorStatistics& statistics() const { return statistics_; }
  // All regions, by address.
  std::vector<Segment> Snapshot() const;

 private:
  static constexpr int32_t kNone = -1;
  struct Chunk {
    uint64_t address = 0;
    int64_t size = 0, requested = 0;
    int32_t previous = kNone, next = kNone;  // neighbours in the region; `next` of an unused slot: the next unused one
    bool live = false, in_use = false;       // in_use: the slot holds a chunk
  };
  Chunk& At(int32_t chunk) { return chunks_[static_cast<size_t>(chunk)]; }
  int32_t NewChunk(uint64_t address, int64_t size);
  void DropChunk(int32_t chunk);
  void InsertFree(int32_t chunk);
  void RemoveFree(int32_t chunk);
  // The best fit, removed from the free chunks; kNone if there is none.
  int32_t TakeFree(int64_t size);
  // Adds a region with room for `size`; false if the device has none.
  bool Extend(int64_t size);
  int64_t RegionFor(int64_t size, int64_t available);
  void AddRegion(int64_t size);
  bool ReleaseRegions(int64_t size);
  void Merge(int32_t into, int32_t next);
  void CountReserved(const Chunk& chunk);

  BfcConfig config_;
  int64_t capacity_;         // of the device
  int64_t taken_ = 0;        // from it
  int64_t next_region_ = 0;  // size of the next one
  uint64_t next_address_ = 0;
  std::vector<Chunk> chunks_;
  int32_t first_unused_ = kNone;
  FreeBlocks free_;
  AllocatorStatistics statistics_;
};

}  // namespace vramplan
