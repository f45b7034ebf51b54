// CachingAllocator: PyTorch's c10/cuda/CUDACachingAllocator.cpp, block by block (PyTorch 2.0-2.15).
//
//   request     block                                        segment
//   40'000 B    40'448 B (multiple of 512)                   2 MiB, small pool
//   1 MiB + 1   1'049'088 B, large pool                      20 MiB, split
//   11.5 MiB    12 MiB: 0.5 MiB left over is not split off   12 MiB (multiple of 2 MiB)
//
// The device below it rounds each allocation up to 2 MiB. It fails if the sum would exceed the capacity. Then the segments
// that are wholly free are given back and the request is tried once more. Among free blocks of one size PyTorch takes the
// one at the lowest address, so the order of segments in the address space is part of the answer: AddressOrder.
//
// Invariants: requested <= allocated <= reserved <= capacity.
// Neighbouring free blocks of a segment are merged.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/result.h"
#include "planner/allocator/bfc_arena.h"
#include "planner/allocator/device_memory.h"
#include "planner/allocator/segment.h"

namespace vramplan {

// Where the driver puts the next segment.
enum class AddressOrder : uint8_t {
  kRising,   // above the last one: a pretend card, on which the tables of tests/data/truth were recorded
  kFalling,  // below it: the driver on Linux (580.159, H200, 2026-11-27). With it 15 of 16 streams that were recorded on
             // that card give its allocated and reserved peaks to the byte (tests/data/truth/real/h200)
};

constexpr AddressOrder Other(AddressOrder order) {
  return order == AddressOrder::kFalling ? AddressOrder::kRising : AddressOrder::kFalling;
}

// PYTORCH_CUDA_ALLOC_CONF. Defaults are PyTorch's.
struct AllocatorConfig {
  std::optional<Bytes> max_split_size;            // max_split_size_mb
  Bytes max_non_split_rounding = Bytes::MiB(20);  // max_non_split_rounding_mb
  Bytes large_segment_size = Bytes::MiB(20);      // large_segment_size_mb (2.11 and later)
  std::vector<int64_t> roundup_power2_divisions;  // 16 intervals 1 MiB .. 64 GiB; empty: off
  double garbage_collection_threshold = 0;        // 0: off; PyTorch collects only with a memory fraction below 1
  double per_process_memory_fraction = 1;         // of the device's memory
  // totalGlobalMem of cudaGetDeviceProperties. It exceeds the capacity by what the context and other programs take.
  // Nothing: the same as the capacity.
  std::optional<Bytes> device_total;
  bool expandable_segments = false;
  AddressOrder addresses = AddressOrder::kRising;
  // For other frameworks: this allocator instead of PyTorch's. The options above then have no effect.
  std::optional<BfcConfig> bfc;
  bool operator==(const AllocatorConfig&) const = default;
};

// Reads PyTorch's own syntax, "max_split_size_mb:64,expandable_segments:True". Options of pinned host memory and of
// locks are accepted and change nothing. Errors (kUsage) name the key and its range.
Result<AllocatorConfig> ParseAllocatorConfig(std::string_view text);

class CachingAllocator {
 public:
  static constexpr int kStreams = 3;
  using Handle = int32_t;  // of a live block; reused after Free
  using Allocation = vramplan::Allocation;

  // `capacity`: the bytes that segments may take; above 2^60 B the device is never full. `device`, if given, provides
  // every segment that the capacity allows, and must outlive the allocator, whose segments stay there when it ends;
  // then `config` must not ask for expandable segments.
  CachingAllocator(Bytes capacity, AllocatorConfig config, DeviceMemory* device = nullptr);
  ~CachingAllocator();
  CachingAllocator(const CachingAllocator&) = delete;
  CachingAllocator& operator=(const CachingAllocator&) = delete;

  // Nothing: out of memory, even after the cache was given back. Zero bytes take no block: handle -1. Free blocks serve
  // requests of their own stream alone.
  std::optional<Allocation> Allocate(Bytes bytes, int stream = 0);
  // -1 does nothing.
  void Free(Handle handle);
  void EmptyCache();
  const AllocatorStatistics& statistics() const;
  // The size of the cudaMalloc if no free block will do: "Tried to allocate ..." of a message.
  Bytes SegmentFor(Bytes bytes) const;
  // All segments, by address.
  std::vector<Segment> Snapshot() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vramplan
