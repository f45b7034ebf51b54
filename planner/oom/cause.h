// CauseOf: why a request failed, as far as the message alone tells it.
//
//   tried 3.00 GiB, free 1.66 GiB, allocated 12.09 GiB, 4.84 GiB reserved but unallocated: kFragmentation, because the
//   memory that PyTorch holds without using it would have been enough
//
// PyTorch prints its numbers after it gave back every cached segment that was wholly free (CUDACachingAllocator.cpp,
// release_cached_blocks), so what is still "reserved but unallocated" lies between live tensors.
#pragma once

#include <string_view>
#include <vector>

#include "planner/oom/message.h"

namespace vramplan {

enum class OutOfMemoryCause : uint8_t {
  kHostMemory,     // the memory of the host, not of the card
  kBeyondCard,     // this one tensor is larger than the whole card
  kLimit,          // a memory fraction limits the process; the card has more
  kFragmentation,  // reserved but unused memory, plus what is free, would be enough, but it is in pieces
  kOthers,         // without the other processes it would have fitted
  kOutside,        // this process holds a lot outside PyTorch's allocator
  kRefused,        // enough was free, and the driver still refused
  kFull,           // the step needs more than the card has
  kNoNumbers,      // the message does not say
};
// "host-memory", "beyond-card", "limit", "fragmentation", "others", "outside", "refused", "full", "no-numbers"
std::string_view Name(OutOfMemoryCause cause);

OutOfMemoryCause CauseOf(const OutOfMemory& message);

// Where the card's memory was. A missing value means that the message does not say. `others` is the sum of the
// processes that the message names or, if it says what this process uses, the rest of the card.
struct CardShares {
  std::optional<Bytes> allocated, unallocated, outside, others, free;
  std::optional<Bytes> unknown;  // the rest of the capacity; nothing: no capacity, or the parts exceed it
};
CardShares SharesOf(const OutOfMemory& message);

// By how much the numbers of the message exceed the card, so that they cannot all be true. Nothing: they add up, or the
// message has no capacity.
std::optional<Bytes> ExcessOf(const OutOfMemory& message);

// The most that PyTorch's allocator could have held: what it had reserved plus what was free, no more than its limit,
// and beyond the card's capacity only what it had reserved. Nothing: the message does not say enough; the caller then
// takes a card's size minus a context.
std::optional<Bytes> RoomOf(const OutOfMemory& message);

}  // namespace vramplan
