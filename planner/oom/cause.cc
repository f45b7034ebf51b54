#include "planner/oom/cause.h"

#include <algorithm>

namespace vramplan {
namespace {

// Pieces of less than a twentieth of the card are in any run, whose next tensors take them: 82 MiB of 6 GiB in
// pytorch#67971, 369 MiB of 16 GiB before the states of an optimizer that were still to come.
constexpr int64_t kRealShare = 20;
// Of what is free a fiftieth is much.
constexpr int64_t kMuchFree = 50;

// A segment of PyTorch's small pool, for requests up to 1 MiB. Pieces of the large pool are not given to them.
constexpr Bytes kSmallSegment = Bytes::MiB(2);

Bytes SumOf(const CardShares& shares) {
  Bytes sum;
  for (const std::optional<Bytes>& share : {shares.allocated, shares.unallocated, shares.graphs, shares.outside,
                                            shares.undivided, shares.others, shares.free}) {
    sum += share.value_or(Bytes());
  }
  return sum;
}

bool IsRealShare(const OutOfMemory& message, Bytes idle) {
  return !message.capacity || idle * kRealShare >= *message.capacity;
}

// The unused pieces that the request may be served from, if they are a real share of the card.
Bytes PiecesFor(const OutOfMemory& message, const CardShares& shares) {
  const Bytes pieces = shares.unallocated.value_or(Bytes());
  if (message.kind == "pytorch" && *message.tried <= kSmallSegment) return Bytes();
  return IsRealShare(message, pieces) ? pieces : Bytes();
}

}  // namespace

std::string_view Name(OutOfMemoryCause cause) {
  switch (cause) {
    case OutOfMemoryCause::kHostMemory:
      return "host-memory";
    case OutOfMemoryCause::kOnChip:
      return "on-chip";
    case OutOfMemoryCause::kKeyValue:
      return "key-value";
    case OutOfMemoryCause::kImpossible:
      return "impossible";
    case OutOfMemoryCause::kBeyondCard:
      return "beyond-card";
    case OutOfMemoryCause::kPagedOut:
      return "paged-out";
    case OutOfMemoryCause::kLimit:
      return "limit";
    case OutOfMemoryCause::kRefused:
      return "refused";
    case OutOfMemoryCause::kGraphs:
      return "graphs";
    case OutOfMemoryCause::kFragmentation:
      return "fragmentation";
    case OutOfMemoryCause::kOthers:
      return "others";
    case OutOfMemoryCause::kOutside:
      return "outside";
    case OutOfMemoryCause::kUnnamed:
      return "unnamed";
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
  shares.graphs = message.private_pools;
  const Bytes graphs = shares.graphs.value_or(Bytes());
  if (message.reserved && shares.allocated)
    shares.unallocated = std::max(Bytes(), *message.reserved - *shares.allocated - graphs);
  // What TensorFlow may take of the card is one pool.
  if (message.kind == "tensorflow" && message.capacity && shares.allocated)
    shares.unallocated = std::max(Bytes(), *message.capacity - *shares.allocated);
  shares.outside = message.outside;
  shares.free = message.free;
  // Without a number of this process's own, any of those that are named may be it.
  const bool names_this_one = message.in_use || message.reserved;
  for (const OutOfMemoryProcess& process : message.processes) {
    if (!process.own && names_this_one) shares.others = shares.others.value_or(Bytes()) + process.in_use;
  }
  const Bytes parts = shares.allocated.value_or(Bytes()) + shares.unallocated.value_or(Bytes()) + graphs +
                      shares.outside.value_or(Bytes());
  const Bytes own = message.in_use     ? *message.in_use
                    : message.reserved ? *message.reserved + shares.outside.value_or(Bytes())
                                       : Bytes();
  if (own > parts + kRounding || (own > parts && parts == Bytes())) shares.undivided = own - parts;
  if (message.capacity) shares.unknown = std::max(Bytes(), *message.capacity - SumOf(shares));
  return shares;
}

std::optional<Bytes> ExcessOf(const OutOfMemory& message) {
  if (!message.capacity) return std::nullopt;
  const Bytes excess = SumOf(SharesOf(message)) - *message.capacity;
  return excess > kRounding ? std::optional(excess) : std::nullopt;
}

bool IsPagedOut(const OutOfMemory& message) {
  if (!message.capacity || !message.pool.empty()) return false;
  const Bytes most = *message.capacity + kRounding;
  return message.allocated > most || (message.reserved > most && message.free == Bytes());
}

std::optional<Bytes> RoomOf(const OutOfMemory& message) {
  if (message.kind != "pytorch" || !message.reserved || !message.free) return std::nullopt;
  Bytes room = *message.reserved + *message.free;
  if (message.capacity) room = std::min(room, *message.capacity);
  return message.allowed ? std::min(room, *message.allowed) : room;
}

OutOfMemoryCause CauseOf(const OutOfMemory& message) {
  using enum OutOfMemoryCause;
  if (message.tried && *message.tried >= kBeyondAnyMachine) return kImpossible;
  if (message.place == MemoryPlace::kHost) return kHostMemory;
  if (message.place == MemoryPlace::kOnChip) return kOnChip;
  if (message.place == MemoryPlace::kKeyValue) return kKeyValue;
  if (message.total && message.capacity && *message.total > *message.capacity) return kFull;
  if (!message.tried) return message.capacity && message.allocated ? kFull : kNoNumbers;
  const Bytes tried = *message.tried;
  if (tried >= message.capacity.value_or(kBeyondAnyCard)) return kBeyondCard;
  const CardShares shares = SharesOf(message);
  if (IsPagedOut(message)) return kPagedOut;
  const Bytes held = std::max(message.reserved.value_or(Bytes()), shares.allocated.value_or(Bytes()));
  // A limit is the reason where it is below the card, and the card had more.
  const bool has_limit = message.allowed && (!message.capacity || *message.allowed + kRounding < *message.capacity) &&
                         (!message.free || *message.free >= tried);
  if (has_limit && (tried > *message.allowed || held + tried > *message.allowed)) return kLimit;
  const bool much_free = !message.capacity || message.free >= Bytes::Of(message.capacity->count() / kMuchFree);
  if (message.free >= tried && much_free) return kRefused;
  const Bytes free = message.free.value_or(Bytes());
  if (shares.graphs > PiecesFor(message, shares) && *shares.graphs + free >= tried &&
      IsRealShare(message, *shares.graphs))
    return kGraphs;
  // Where others hold most of the card, pieces are not what it is short of.
  const Bytes not_its_own = shares.others.value_or(Bytes()) + shares.unknown.value_or(Bytes());
  const bool mostly_others =
      message.capacity && message.pool.empty() && not_its_own > Bytes::Of(message.capacity->count() / 2);
  // A large request is what to look at, unless the pieces alone would do.
  const Bytes pieces = PiecesFor(message, shares);
  const bool is_large = message.capacity && tried * kLargeShare >= *message.capacity && pieces < tried;
  if (!mostly_others && !is_large && pieces > Bytes() && pieces + free >= tried) return kFragmentation;
  if (!message.capacity) return message.free ? kFull : kNoNumbers;
  if (!message.free && SumOf(shares) + tried + kRounding <= *message.capacity) return kNoNumbers;
  const Bytes missing = free >= tried ? tried : tried - free;
  // Where live tensors fill nearly all of the card, nobody else is to blame.
  const bool nearly_all = held >= Bytes::Of(message.capacity->count() / 10 * 9);
  if (shares.others && *shares.others >= missing && !nearly_all) return kOthers;
  const Bytes usual = message.pool.empty() ? kMostContext + missing : Bytes::Of(message.capacity->count() / 2);
  if (shares.outside >= usual) return kOutside;
  const bool names_this_one = message.in_use || message.reserved || shares.allocated;
  const Bytes context = names_this_one ? kMostContext : Bytes();
  return *shares.unknown >= context + missing && message.pool.empty() && !nearly_all ? kUnnamed : kFull;
}

}  // namespace vramplan
