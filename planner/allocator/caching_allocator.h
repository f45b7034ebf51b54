// CachingAllocator: PyTorch's c10/cuda/CUDACachingAllocator.cpp, block by block (PyTorch 2.0-2.15).
//
//   request     block                                        segment
//   40'000 B    40'448 B (multiple of 512)                   2 MiB, small pool
//   1 MiB + 1   1'049'088 B, large pool                      20 MiB, split
//   11.5 MiB    12 MiB: 0.5 MiB left over is not split off   12 MiB (multiple of 2 MiB)
//
// The device below it: allocations take their size rounded up to 2 MiB, addresses only grow; it fails when the sum would exceed the
// capacity. Then blocks that are wholly free are given back and the request is tried once more.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"

namespace vramplan {

// PYTORCH_CUDA_ALLOC_CONF. Defaults are PyTorch's.
struct AllocatorConfig {
  std::optional<Bytes> max_split_size;              // max_split_size_mb
  Bytes max_non_split_rounding = Bytes::MiB(20);    // max_non_split_rounding_mb
  std::vector<int64_t> roundup_power2_divisions;    // 16 intervals 1 MiB .. 64 GiB; empty: off
  double garbage_collection_threshold = 0;          // 0: off
  double per_process_memory_fraction = 1;
  bool expandable_segments = false;
  bool operator==(const AllocatorConfig&) const = default;
};

// Reads PyTorch's own syntax, "max_split_size_mb:64,expandable_segments:True". Errors name the key and its range.
Result<AllocatorConfig> ParseAllocatorConfig(std::string_view text);

struct AllocatorStatistics {
  Bytes requested, allocated, reserved;
  int64_t segments = 0;
  int64_t retries = 0;  // times that cached blocks were given back because the device was full
  bool operator==(const AllocatorStatistics&) const = default;
};

class CachingAllocator {
 public:
  using Handle = int32_t;  // of a live block; reused after Free
  struct Allocation {
    Handle handle = -1;
    Bytes size;           // of the block, rounding and unsplit slack included
    int64_t address = 0;
  };

  CachingAllocator(Bytes capacity, AllocatorConfig config);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Nothing: out of memory, even after giving back what was cached.
  std::optional<Allocation> Allocate(Bytes bytes);
  void Free(Handle handle);
  void EmptyCache();
  const AllocatorStatistics& statistics() const;

 private:
  struct State;
  State* state_;
};

}  // namespace vramplan
