#include "planner/oom/cause.h"

#include <algorithm>

namespace vramplan {
namespace {

// Outside its allocator a process has a context, kernels and libraries: 0.2 to 1.2 GiB on cards of every generation
// (the catalogue's bands, planner/spec). More than that has another reason.
constexpr Bytes kMostContext = Bytes::MiB(1280);

// In a container the message names this process by its number, like the others. It is the one that holds as much as
// PyTorch reserved.
bool IsThisProcess(const OutOfMemory& message, const OutOfMemoryProcess& process) {
  if (message.in_use || !message.reserved) return false;
  return process.in_use >= *message.reserved && process.in_use <= *message.reserved + kMostContext;
}

}  // namespace

std::string_view Name(OutOfMemoryCause cause) {
  switch (cause) {
    case OutOfMemoryCause::kHostMemory:
      return "host-memory";
    case OutOfMemoryCause::kBeyondCard:
      return "beyond-card";
    case OutOfMemoryCause::kLimit:
      return "limit";
    case OutOfMemoryCause::kFragmentation:
      return "fragmentation";
    case OutOfMemoryCause::kOthers:
      return "others";
    case OutOfMemoryCause::kOutside:
      return "outside";
    case OutOfMemoryCause::kRefused:
      return "refused";
    case OutOfMemoryCause::kFull:
      return "full";
    case OutOfMemoryCause::kNoNumbers:
      return "no-numbers";
  }
  return "";
}

CardShares SharesOf(const OutOfMemory& message) {
  CardShares shares;
  shares.allocated = message.allocated;
  if (message.allocated && message.private_pools) shares.allocated = *message.allocated + *message.private_pools;
  if (message.reserved && shares.allocated) {
    shares.unallocated = std::max(Bytes(), *message.reserved - *shares.allocated);
  }
  shares.outside = message.outside();
  shares.free = message.free;
  Bytes named;
  for (const OutOfMemoryProcess& process : message.processes) {
    if (IsThisProcess(message, process)) {
      shares.outside = process.in_use - *message.reserved;
    } else {
      named += process.in_use;
      shares.others = named;
    }
  }
  if (!message.capacity) return shares;
  Bytes known;
  for (const std::optional<Bytes>& share :
       {shares.allocated, shares.unallocated, shares.outside, shares.others, shares.free}) {
    known += share.value_or(Bytes());
  }
  if (known <= *message.capacity) shares.unknown = *message.capacity - known;
  return shares;
}

std::optional<Bytes> ExcessOf(const OutOfMemory& message) {
  const CardShares shares = SharesOf(message);
  if (!message.capacity || shares.unknown) return std::nullopt;
  Bytes sum;
  for (const std::optional<Bytes>& share :
       {shares.allocated, shares.unallocated, shares.outside, shares.others, shares.free}) {
    sum += share.value_or(Bytes());
  }
  // Each number is rounded to two decimals of its unit.
  constexpr int64_t kRounding = 200;
  if (sum - *message.capacity <= Bytes::Of(message.capacity->count() / kRounding)) return std::nullopt;
  return sum - *message.capacity;
}

std::optional<Bytes> RoomOf(const OutOfMemory& message) {
  if (!message.reserved || !message.free) return std::nullopt;
  Bytes room = *message.reserved + *message.free;
  // The card cannot have held more, unless PyTorch had reserved more: Windows pages out what the card does not hold.
  if (message.capacity) room = std::min(room, std::max(*message.capacity, *message.reserved));
  return message.allowed ? std::min(room, *message.allowed) : room;
}

OutOfMemoryCause CauseOf(const OutOfMemory& message) {
  using enum OutOfMemoryCause;
  if (message.kind == OutOfMemoryKind::kHost) return kHostMemory;
  if (!message.tried) return kNoNumbers;
  const Bytes tried = *message.tried;
  if (message.capacity && tried > *message.capacity) return kBeyondCard;
  const CardShares shares = SharesOf(message);
  if (shares.unallocated && *shares.unallocated >= tried) return kFragmentation;
  if (message.allowed && message.reserved && *message.reserved + tried > *message.allowed) return kLimit;
  if (!message.free) return kNoNumbers;
  if (*message.free >= tried) return kRefused;
  if (shares.unallocated && *shares.unallocated + *message.free >= tried) return kFragmentation;
  const Bytes missing = tried - *message.free;
  if (shares.others && *shares.others >= missing) return kOthers;
  if (shares.outside && *shares.outside >= kMostContext + missing) return kOutside;
  if (shares.unknown && *shares.unknown >= kMostContext + missing) return kOthers;
  return kFull;
}

}  // namespace vramplan
