// DeviceMemory: the card below the caching allocator, if there is a real one: cudaMalloc and cudaFree, nothing else.
//
//   CachingAllocator --Take(20 MiB)--> card: an address, or nothing if it is full
//                    --GiveBack(address, 20 MiB)-->
//
// Without a card the allocator counts: a segment fits as long as the sum stays within the capacity.
#pragma once

#include <cstdint>
#include <optional>

#include "graph/base/bytes.h"

namespace vramplan {

class DeviceMemory {
 public:
  virtual ~DeviceMemory() = default;
  // Nothing: the card has no room. The allocator then gives back what it caches and tries once more.
  virtual std::optional<uint64_t> Take(Bytes bytes) = 0;
  virtual void GiveBack(uint64_t address, Bytes bytes) = 0;
};

}  // namespace vramplan
