// Follows onnxruntime/core/framework/bfc_arena.cc (1.31) and xla/tsl/framework/bfc_allocator.cc; each step names the
// function there.
#include "planner/allocator/bfc_arena.h"

#include <algorithm>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/round.h"

namespace vramplan {
namespace {

constexpr int64_t kMinAllocation = 256;             // kMinAllocationSize
constexpr int64_t kLeastRetried = 8 * 1024;         // Extend gives up below it
constexpr float kBackpedal = 0.9F;                  // kBackpedalFactor
constexpr int64_t kMaxArena = int64_t{1} << 60;     // sums and rounding stay within 63 bits
constexpr int64_t kAddressUnit = int64_t{2} << 20;  // regions begin at multiples of it, with a gap between them

}  // namespace

BfcArena::BfcArena(Bytes capacity, const BfcConfig& config)
    : config_(config), capacity_(std::clamp(capacity.count(), int64_t{0}, kMaxArena)) {
  const int64_t limit = std::min(config_.limit.count(), kMaxArena);
  next_region_ = config_.growth == BfcGrowth::kWholePool
                     ? std::min(limit, capacity_) / kMinAllocation * kMinAllocation
                     : RoundUp(std::min(limit, config_.first_region.count()), kMinAllocation);
  chunks_.reserve(1024);
}

int32_t BfcArena::NewChunk(uint64_t address, int64_t size) {
  int32_t chunk = first_unused_;
  if (chunk == kNone) {
    chunk = static_cast<int32_t>(chunks_.size());
    chunks_.emplace_back();
  } else {
    first_unused_ = At(chunk).next;
  }
  At(chunk) = Chunk{.address = address, .size = size, .in_use = true};
  return chunk;
}

void BfcArena::DropChunk(int32_t chunk) {
  At(chunk) = Chunk{.next = first_unused_};
  first_unused_ = chunk;
}

void BfcArena::InsertFree(int32_t chunk) { free_.Insert({At(chunk).size, At(chunk).address, chunk}); }
void BfcArena::RemoveFree(int32_t chunk) { free_.Remove(At(chunk).size, At(chunk).address); }

// FindChunkPtr
int32_t BfcArena::TakeFree(int64_t size) {
  const auto at = free_.LowerBound(size);
  if (at == free_.end()) return kNone;
  const int32_t chunk = at->block;
  free_.Erase(at);
  return chunk;
}

// get_extend_bytes
int64_t BfcArena::RegionFor(int64_t size, int64_t available) {
  if (config_.growth == BfcGrowth::kSameAsRequested) return size;
  if (config_.growth == BfcGrowth::kWholePool) return next_region_;
  bool grown = false;
  while (size > next_region_) {
    next_region_ *= 2;
    grown = true;
  }
  const int64_t region = std::min(next_region_, available);
  // Seen with ONNX Runtime 1.31: after two regions of 2 GiB the next one is of 1 GiB.
  if (!grown) next_region_ = std::min(2 * next_region_, std::min(config_.largest_doubling.count(), kMaxArena));
  return region;
}

void BfcArena::AddRegion(int64_t size) {
  taken_ += size;
  ++statistics_.segments;
  if (config_.growth != BfcGrowth::kWholePool) statistics_.reserved += Bytes::Of(size);
  InsertFree(NewChunk(next_address_, size));
  next_address_ += static_cast<uint64_t>(RoundUp(size, kAddressUnit) + kAddressUnit);
}

// Extend
bool BfcArena::Extend(int64_t size) {
  const int64_t limit = std::min(config_.limit.count(), kMaxArena);
  const int64_t available = (limit - taken_) / kMinAllocation * kMinAllocation;
  if (size > available) return false;
  int64_t region = RegionFor(size, available);
  if (region > capacity_ - taken_) ++statistics_.retries;
  while (region > capacity_ - taken_) {
    // As in the sources: computed in float and truncated.
    region = RoundUp(static_cast<int64_t>(static_cast<float>(region) * kBackpedal), kMinAllocation);
    if (region < size || region < kLeastRetried) return false;
  }
  if (region < size) return false;
  AddRegion(region);
  return true;
}

// DeallocateFreeRegions of bfc_allocator.cc: gives back all free regions if that can be enough.
bool BfcArena::ReleaseRegions(int64_t size) {
  if (!config_.releases_regions) return false;
  std::vector<int32_t> whole;
  int64_t bytes = 0;
  for (const FreeBlock& entry : free_) {
    const Chunk& chunk = At(entry.block);
    if (chunk.previous != kNone || chunk.next != kNone) continue;
    whole.push_back(entry.block);
    bytes += chunk.size;
  }
  const int64_t limit = std::min(config_.limit.count(), kMaxArena);
  if (bytes == 0 || size > limit - taken_ + bytes) return false;
  for (const int32_t chunk : whole) {
    RemoveFree(chunk);
    DropChunk(chunk);
  }
  taken_ -= bytes;
  statistics_.segments -= static_cast<int64_t>(whole.size());
  if (config_.growth != BfcGrowth::kWholePool) statistics_.reserved -= Bytes::Of(bytes);
  return true;
}

// For a pool, the furthest byte that was ever handed out: a smaller pool could not have served these requests.
void BfcArena::CountReserved(const Chunk& chunk) {
  if (config_.growth != BfcGrowth::kWholePool) return;
  const auto end = static_cast<int64_t>(chunk.address) + chunk.size;
  statistics_.reserved = std::max(statistics_.reserved, Bytes::Of(end));
}

// AllocateRawInternal
std::optional<Allocation> BfcArena::Allocate(Bytes bytes) {
  if (bytes <= Bytes()) return Allocation{};
  const int64_t size = RoundUp(std::min(bytes.count(), 2 * kMaxArena), kMinAllocation);
  int32_t found = TakeFree(size);
  if (found == kNone && Extend(size)) found = TakeFree(size);
  if (found == kNone && ReleaseRegions(size) && Extend(size)) found = TakeFree(size);
  if (found == kNone) return std::nullopt;
  // SplitFreeChunkFromBin: the front part is handed out.
  const int64_t rest = At(found).size - size;
  if (rest >= size || rest >= config_.most_unsplit.count()) {
    const int32_t back = NewChunk(At(found).address + static_cast<uint64_t>(size), rest);
    Chunk& front = At(found);
    front.size = size;
    At(back).previous = found;
    At(back).next = front.next;
    if (front.next != kNone) At(front.next).previous = back;
    front.next = back;
    InsertFree(back);
  }
  Chunk& chunk = At(found);
  chunk.live = true;
  chunk.requested = bytes.count();
  statistics_.requested += bytes;
  statistics_.allocated += Bytes::Of(chunk.size);
  CountReserved(chunk);
  return Allocation{found, Bytes::Of(chunk.size), static_cast<int64_t>(chunk.address)};
}

// Merge: `next` becomes the end of `into`.
void BfcArena::Merge(int32_t into, int32_t next) {
  At(into).size += At(next).size;
  At(into).next = At(next).next;
  if (At(into).next != kNone) At(At(into).next).previous = into;
  DropChunk(next);
}

// FreeAndMaybeCoalesce
void BfcArena::Free(Handle handle) {
  if (handle == -1) return;
  CHECK(handle >= 0 && static_cast<size_t>(handle) < chunks_.size());
  CHECK(At(handle).in_use && At(handle).live);
  statistics_.requested -= Bytes::Of(At(handle).requested);
  statistics_.allocated -= Bytes::Of(At(handle).size);
  At(handle).live = false;
  At(handle).requested = 0;
  int32_t chunk = handle;
  if (const int32_t next = At(chunk).next; next != kNone && !At(next).live) {
    RemoveFree(next);
    Merge(chunk, next);
  }
  if (const int32_t previous = At(chunk).previous; previous != kNone && !At(previous).live) {
    RemoveFree(previous);
    Merge(previous, chunk);
    chunk = previous;
  }
  InsertFree(chunk);
}

std::vector<Segment> BfcArena::Snapshot() const {
  std::vector<Segment> segments;
  for (const Chunk& head : chunks_) {
    if (!head.in_use || head.previous != kNone) continue;
    Segment segment{static_cast<int64_t>(head.address), Bytes(), false, false, {}};
    for (auto at = static_cast<int32_t>(&head - chunks_.data()); at != kNone;
         at = chunks_[static_cast<size_t>(at)].next) {
      const Chunk& chunk = chunks_[static_cast<size_t>(at)];
      // The part of a pool that was never used is not in the picture.
      if (config_.growth == BfcGrowth::kWholePool && !chunk.live && chunk.next == kNone &&
          Bytes::Of(static_cast<int64_t>(chunk.address)) >= statistics_.reserved) {
        break;
      }
      Bytes size = Bytes::Of(chunk.size);
      if (config_.growth == BfcGrowth::kWholePool) {
        size = std::min(size, statistics_.reserved - Bytes::Of(static_cast<int64_t>(chunk.address)));
      }
      segment.size += size;
      segment.blocks.push_back(
          {static_cast<int64_t>(chunk.address), size, Bytes::Of(chunk.requested), chunk.live ? at : kNone});
    }
    if (!segment.blocks.empty()) segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.address < b.address; });
  return segments;
}

}  // namespace vramplan
