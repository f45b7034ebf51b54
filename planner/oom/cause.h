// CauseOf: why a request failed, as far as the message alone tells it.
//
//   tried 3.00 GiB, free 1.66 GiB, allocated 12.09 GiB, 4.84 GiB reserved but unallocated: kFragmentation, because what
//   PyTorch holds without using it would have been enough
//
// PyTorch prints its numbers after it gave back every cached segment that was wholly free (CUDACachingAllocator.cpp,
// release_cached_blocks), so what is still "reserved but unallocated" lies between live tensors.
#pragma once

#include <string_view>
#include <vector>

#include "planner/oom/message.h"

namespace vramplan {

enum class OutOfMemoryCause : uint8_t {
  kHostMemory,     // not the card's memory at all
  kBeyondCard,     // the one tensor is larger than the whole card
  kLimit,          // the process may not take more (a memory fraction), the card could
  kFragmentation,  // enough is reserved and unused, or that and free, in pieces
  kOthers,         // without the other processes it would have fitted
  kOutside,        // this process holds a lot that is not PyTorch's allocator's
  kRefused,        // enough was free, and the driver still refused
  kFull,           // the step needs more than the card has
  kNoNumbers,      // the message does not say
};
// "host-memory", "beyond-card", "limit", "fragmentation", "others", "outside", "refused", "full", "no-numbers"
std::string_view Name(OutOfMemoryCause cause);

OutOfMemoryCause CauseOf(const OutOfMemory& message);

// Where the card's memory was. What is missing is not said; `others` is what processes are named with or, when this
// process' share is said, the rest of the card.
struct CardShares {
  std::optional<Bytes> allocated, unallocated, outside, others, free;
  std::optional<Bytes> unknown;  // of the capacity; nothing: no capacity is said, or more is named than it has
};
CardShares SharesOf(const OutOfMemory& message);

// What the numbers of the message sum to beyond the card, where they cannot all be true. Nothing: they add up, or no
// capacity is said.
std::optional<Bytes> ExcessOf(const OutOfMemory& message);

// The most that PyTorch's allocator could have held: what it did, what was free, no more than it is allowed. Nothing:
// the message does not say enough, and a card's size less a context has to do.
std::optional<Bytes> RoomOf(const OutOfMemory& message);

}  // namespace vramplan
