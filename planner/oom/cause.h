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
  kOnChip,         // a kernel wants more of a multiprocessor than it has
  kKeyValue,       // a server's cache is too small for one request
  kImpossible,     // no machine has a tensor of this size
  kBeyondCard,     // this one request is as large as the whole card, or larger
  kPagedOut,       // PyTorch holds more than the card has: the rest is in the host's memory, where no more went
  kLimit,          // a memory fraction or a limit stops the process; the card has more
  kRefused,        // enough was free, and the driver still refused
  kGraphs,         // pools of CUDA graphs have enough, which nothing else may use
  kFragmentation,  // reserved but unused memory, plus what is free, would be enough, but it is in pieces
  kOthers,         // without the other processes it would have fitted
  kOutside,        // this process holds a lot outside PyTorch's allocator
  kUnnamed,        // the message does not say whose most of the rest of the card is
  kFull,           // the step needs more than the card has
  kNoNumbers,      // the message does not say
};
// "host-memory", "on-chip", "key-value", "impossible", "beyond-card", "paged-out", "limit", "refused", "graphs",
// "fragmentation", "others", "outside", "unnamed", "full", "no-numbers"
std::string_view Name(OutOfMemoryCause cause);

OutOfMemoryCause CauseOf(const OutOfMemory& message);

// A request of this part of a card is what to look at, whatever else holds the card.
inline constexpr int64_t kLargeShare = 4;

// Where the card's memory was. A missing value means that the message does not say. They sum to the card, unless they
// exceed it (ExcessOf).
struct CardShares {
  std::optional<Bytes> allocated, unallocated, outside;
  std::optional<Bytes> graphs;     // idle, in pools of CUDA graphs
  std::optional<Bytes> undivided;  // this process holds it, and the message does not say what for
  std::optional<Bytes> others;     // the processes that the message names, if it tells them from this one
  std::optional<Bytes> free;
  std::optional<Bytes> unknown;  // the rest, which the message does not name; nothing: no capacity
};
CardShares SharesOf(const OutOfMemory& message);

// By how much the numbers of the message exceed the card by more than rounding. Nothing: they add up, or the message
// has no capacity.
std::optional<Bytes> ExcessOf(const OutOfMemory& message);

// Whether the driver of Windows has paged a part of it out to the host's memory: live tensors are more than the card, or
// nothing is free and what is reserved is more.
bool IsPagedOut(const OutOfMemory& message);

// The most that PyTorch's allocator could have held: what it had reserved plus what was free, no more than its limit
// and the card. Nothing: the message does not say enough; the caller then takes a card's size minus a context.
std::optional<Bytes> RoomOf(const OutOfMemory& message);

}  // namespace vramplan
