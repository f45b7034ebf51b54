// DeviceMemory: what lies below the caching allocator when there is a real card: cudaMalloc and cudaFree, nothing else.
//
//   CachingAllocator --Take(20 MiB)--> card: an address, or nothing: it is full
//                    --GiveBack(address, 20 MiB)-->
//
// Without one the allocator counts: a segment fits while the sum stays within the capacity.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/bytes.h"

namespace vramplan {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Nothing: the card cannot give it. The allocator then gives back what it caches and asks once more.
  virtual std::optional<uint64_t> Take(Bytes bytes) = 0;
  virtual void GiveBack(uint64_t address, Bytes bytes) = 0;
};

}  // namespace vramplan
