// Follows c10/cuda/CUDACachingAllocator.cpp, PyTorch 2.10; each step names the function there. There is one stream and
// no graph capture.
#include "planner/allocator/caching_allocator.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "graph/base/check.h"
#include "graph/base/round.h"
#include "planner/allocator/caching_allocator_state.h"

namespace vramplan {
namespace {

constexpr int64_t kMaxCapacity = int64_t{1} << 60;  // sums and rounding stay within 63 bits
constexpr int64_t kAddressGap = int64_t{2} << 20;

}  // namespace

CachingAllocator::State::State(Bytes capacity_bytes, AllocatorConfig allocator_config, DeviceMemory* device_memory)
    : config(std::move(allocator_config)),
      device(device_memory),
      max_split_size(config.max_split_size.value_or(Bytes::Max()).count()),
      capacity(std::clamp(capacity_bytes.count(), int64_t{0}, kMaxCapacity)),
      allowed(static_cast<int64_t>(
          config.per_process_memory_fraction *
          static_cast<double>(std::min(config.device_total.value_or(capacity_bytes).count(), kMaxCapacity)))) {
  CHECK(device == nullptr || !config.expandable_segments);
  for (size_t i = 0; i < pools.size(); ++i) {
    pools[i].number = static_cast<uint8_t>(i);
    pools[i].small = i % 2 == 0;
  }
  blocks.reserve(1024);
}

// round_size
int64_t CachingAllocator::State::Rounded(int64_t size) const {
  if (size < kMinBlockSize) return kMinBlockSize;
  if (!config.roundup_power2_divisions.empty()) {
    const int last = static_cast<int>(config.roundup_power2_divisions.size()) - 1;
    const int log2 = std::bit_width(static_cast<uint64_t>(size)) - 1;
    const int64_t divisions = config.roundup_power2_divisions[static_cast<size_t>(std::clamp(log2 - 20, 0, last))];
    // size > 512 * divisions, so a step is at least 512.
    if (divisions > 1 && (size + kMinBlockSize - 1) / kMinBlockSize > divisions) {
      return RoundUp(size, (int64_t{1} << log2) / divisions);
    }
  }
  return RoundUp(size, kMinBlockSize);
}

// get_allocation_size
int64_t CachingAllocator::State::SegmentSize(int64_t size) const {
  if (size <= kSmallSize) return kSmallBuffer;
  if (size < kMinLargeAlloc) return config.large_segment_size.count();
  return RoundUp(size, kRoundLarge);
}

// should_split
bool CachingAllocator::State::ShouldSplit(const Block& block, int64_t size) const {
  const int64_t rest = block.size - size;
  if (block.small || config.expandable_segments) return rest >= kMinBlockSize;
  return size < max_split_size && rest > kSmallSize;
}

int32_t CachingAllocator::State::NewBlock(uint64_t address, int64_t size, uint8_t pool) {
  int32_t block = first_unused;
  if (block == kNone) {
    block = static_cast<int32_t>(blocks.size());
    blocks.emplace_back();
  } else {
    first_unused = blocks[static_cast<size_t>(block)].next;
  }
  Block& slot = blocks[static_cast<size_t>(block)];
  slot = Block{};
  slot.address = address;
  slot.size = size;
  slot.pool = pool;
  slot.small = pools[pool].small;
  slot.in_use = true;
  return block;
}

void CachingAllocator::State::DropBlock(int32_t block) {
  Block& slot = blocks[static_cast<size_t>(block)];
  slot.in_use = false;
  slot.live = false;
  slot.next = first_unused;
  first_unused = block;
}

// BlockPool::insert_into_blocks
void CachingAllocator::State::InsertFree(int32_t block) {
  Block& slot = blocks[static_cast<size_t>(block)];
  Pool& pool = PoolOf(slot);
  slot.age_base = pool.lookups;
  pool.free.Insert({slot.size, slot.address, block});
}

// try_merge_blocks
void CachingAllocator::State::TryMerge(int32_t block, int32_t source) {
  if (source == kNone) return;
  Block& into = blocks[static_cast<size_t>(block)];
  Block& from = blocks[static_cast<size_t>(source)];
  if (from.live || into.mapped != from.mapped) return;
  if (from.mapped) {
    PoolOf(from).free.Remove(from.size, from.address);
  } else {
    RemoveUnmapped(source);
  }
  if (into.previous == source) {
    into.address = from.address;
    into.previous = from.previous;
    if (into.previous != kNone) blocks[static_cast<size_t>(into.previous)].next = block;
  } else {
    into.next = from.next;
    if (into.next != kNone) blocks[static_cast<size_t>(into.next)].previous = block;
  }
  into.size += from.size;
  DropBlock(source);
}

// get_free_block
int32_t CachingAllocator::State::TakeFree(Pool& pool, int64_t size) {
  if (CollectsGarbage()) ++pool.lookups;
  FreeBlocks::Iterator at = pool.free.LowerBound(size);
  if (at == pool.free.end()) return kNone;
  if (config.expandable_segments) {
    // A block that can grow counts with the size that it can reach, so that a tighter block is preferred.
    const auto grown = [&](FreeBlocks::Iterator i) {
      const Block& b = blocks[static_cast<size_t>(i->block)];
      if (b.next == kNone || blocks[static_cast<size_t>(b.next)].mapped) return b.size;
      return b.size + blocks[static_cast<size_t>(b.next)].size;
    };
    for (auto next = at; ++next != pool.free.end() && grown(next) < grown(at);) at = next;
  }
  const FreeBlock found = *at;
  if (size < max_split_size && found.size >= max_split_size) return kNone;
  if (size >= max_split_size && found.size >= size + config.max_non_split_rounding.count()) return kNone;
  pool.free.Erase(at);
  return found.block;
}

bool CachingAllocator::State::TakeFromDevice(int64_t size) {
  if (size > capacity - device_used) return false;
  device_used += size;
  statistics.reserved += Bytes::Of(size);
  return true;
}

std::optional<uint64_t> CachingAllocator::State::TakeSegment(int64_t size) {
  if (!TakeFromDevice(size)) return std::nullopt;
  if (device == nullptr) return TakeAddresses(size);
  const std::optional<uint64_t> address = device->Take(Bytes::Of(size));
  if (!address) GiveToDevice(size);
  return address;
}

void CachingAllocator::State::GiveToDevice(int64_t size) {
  device_used -= size;
  statistics.reserved -= Bytes::Of(size);
}

uint64_t CachingAllocator::State::TakeAddresses(int64_t size) {
  const auto step = static_cast<uint64_t>(RoundUp(size, kRoundLarge) + kAddressGap);
  if (config.addresses == AddressOrder::kFalling) {
    // Half of what an int64_t holds: reports print addresses as such.
    if (next_address == 0) next_address = uint64_t{1} << 62;
    return next_address -= step;
  }
  return std::exchange(next_address, next_address + step);
}

// alloc_block
int32_t CachingAllocator::State::NewSegment(Pool& pool, int64_t size) {
  const int64_t segment = SegmentSize(size);
  if (HasFraction() && segment > allowed - device_used) return kNone;
  if (config.expandable_segments) return GrowExpandable(pool, size);
  const std::optional<uint64_t> address = TakeSegment(segment);
  if (!address) return kNone;
  ++statistics.segments;
  return NewBlock(*address, segment, pool.number);
}

// release_block
void CachingAllocator::State::ReleaseSegment(int32_t block) {
  const Block& slot = blocks[static_cast<size_t>(block)];
  PoolOf(slot).free.Remove(slot.size, slot.address);
  GiveToDevice(slot.size);
  if (device != nullptr) device->GiveBack(slot.address, Bytes::Of(slot.size));
  --statistics.segments;
  DropBlock(block);
}

// garbage_collect_cached_blocks
void CachingAllocator::State::CollectGarbage() {
  const auto threshold = static_cast<int64_t>(config.garbage_collection_threshold * static_cast<double>(allowed));
  if (device_used <= threshold) return;
  const int64_t target = device_used - threshold;
  const auto age = [&](const Block& b) { return pools[b.pool].lookups - b.age_base; };
  std::vector<int32_t> candidates;
  int64_t total_age = 0;
  for (const Pool& pool : pools) {
    if (pool.small) continue;
    for (const FreeBlock& entry : pool.free) {
      const Block& block = blocks[static_cast<size_t>(entry.block)];
      if (block.IsSplit()) continue;
      total_age += age(block);
      candidates.push_back(entry.block);
    }
  }
  int64_t reclaimed = 0;
  bool freed = true;
  while (reclaimed < target && freed && !candidates.empty()) {
    // All blocks older than the average are freed, even if that is more than the target.
    const double limit = static_cast<double>(total_age) / static_cast<double>(candidates.size());
    freed = false;
    std::vector<int32_t> younger;
    for (int32_t candidate : candidates) {
      const Block block = blocks[static_cast<size_t>(candidate)];
      if (static_cast<double>(age(block)) < limit) {
        younger.push_back(candidate);
        continue;
      }
      freed = true;
      reclaimed += block.size;
      total_age -= age(block);
      ReleaseSegment(candidate);
    }
    candidates = std::move(younger);
  }
}

// release_available_cached_blocks
bool CachingAllocator::State::ReleaseOversize(Pool& pool, int64_t size) {
  if (!config.max_split_size || config.expandable_segments) return false;
  const int64_t wanted = std::max(size, max_split_size);
  const auto at = pool.free.LowerBound(wanted);
  if (at != pool.free.end()) {
    ReleaseSegment(at->block);
    return true;
  }
  // No single block is large enough, so the largest ones are freed until they are.
  int64_t released = 0;
  while (released < wanted && !pool.free.empty()) {
    const FreeBlock largest = pool.free.largest();
    if (largest.size < max_split_size) break;
    released += largest.size;
    ReleaseSegment(largest.block);
  }
  return released >= wanted;
}

// release_blocks
void CachingAllocator::State::ReleaseSegments(Pool& pool) {
  std::vector<int32_t> whole, expandable;
  for (const FreeBlock& entry : pool.free) {
    const Block& block = blocks[static_cast<size_t>(entry.block)];
    if (block.expandable != kNone) {
      expandable.push_back(entry.block);
    } else if (!block.IsSplit()) {
      whole.push_back(entry.block);
    }
  }
  for (int32_t block : whole) ReleaseSegment(block);
  for (int32_t block : expandable) UnmapBlock(block);
}

// release_cached_blocks
void CachingAllocator::State::ReleaseCached() {
  for (const size_t large : {size_t{1}, size_t{0}})
    for (size_t i = large; i < pools.size(); i += 2) ReleaseSegments(pools[i]);
}

CachingAllocator::CachingAllocator(Bytes capacity, AllocatorConfig config, DeviceMemory* device)
    : state_(std::make_unique<State>(capacity, std::move(config), device)) {}
CachingAllocator::~CachingAllocator() = default;

// DeviceCachingAllocator::malloc
std::optional<CachingAllocator::Allocation> CachingAllocator::Allocate(Bytes bytes, int stream) {
  State& s = *state_;
  if (bytes <= Bytes()) return Allocation{};
  const int64_t size = s.Rounded(std::min(bytes.count(), 2 * kMaxCapacity));
  State::Pool& pool = s.pools[size_t{2} * static_cast<size_t>(stream) + (size <= kSmallSize ? 0 : 1)];
  int32_t found = s.TakeFree(pool, size);
  if (found == State::kNone) {
    if (s.CollectsGarbage()) s.CollectGarbage();
    found = s.NewSegment(pool, size);
    if (found == State::kNone && s.ReleaseOversize(pool, size)) found = s.NewSegment(pool, size);
    if (found == State::kNone) {
      s.ReleaseCached();
      ++s.statistics.retries;
      found = s.NewSegment(pool, size);
    }
    if (found == State::kNone) return std::nullopt;
  }
  // alloc_found_block: the front part is handed out, the rest stays free.
  if (s.ShouldSplit(s.blocks[static_cast<size_t>(found)], size)) {
    const int32_t rest = s.NewBlock(0, 0, pool.number);
    State::Block& front = s.blocks[static_cast<size_t>(found)];
    State::Block& back = s.blocks[static_cast<size_t>(rest)];
    back.address = front.address + static_cast<uint64_t>(size);
    back.size = front.size - size;
    back.expandable = front.expandable;
    back.previous = found;
    back.next = front.next;
    if (back.next != State::kNone) s.blocks[static_cast<size_t>(back.next)].previous = rest;
    front.next = rest;
    front.size = size;
    s.InsertFree(rest);
  }
  State::Block& block = s.blocks[static_cast<size_t>(found)];
  block.live = true;
  block.requested = bytes.count();
  s.statistics.requested += bytes;
  s.statistics.allocated += Bytes::Of(block.size);
  return Allocation{found, Bytes::Of(block.size), static_cast<int64_t>(block.address)};
}

// free_block
void CachingAllocator::Free(Handle handle) {
  State& s = *state_;
  if (handle == -1) return;
  CHECK(handle >= 0 && static_cast<size_t>(handle) < s.blocks.size());
  State::Block& block = s.blocks[static_cast<size_t>(handle)];
  CHECK(block.in_use && block.live);
  s.statistics.requested -= Bytes::Of(block.requested);
  s.statistics.allocated -= Bytes::Of(block.size);
  block.live = false;
  block.requested = 0;
  s.TryMerge(handle, block.previous);
  s.TryMerge(handle, block.next);
  s.InsertFree(handle);
}

void CachingAllocator::EmptyCache() { state_->ReleaseCached(); }

const AllocatorStatistics& CachingAllocator::statistics() const { return state_->statistics; }

Bytes CachingAllocator::SegmentFor(Bytes bytes) const {
  const int64_t size = std::clamp<int64_t>(bytes.count(), 0, 2 * kMaxCapacity);
  return Bytes::Of(state_->SegmentSize(state_->Rounded(size)));
}

// snapshot
std::vector<Segment> CachingAllocator::Snapshot() const {
  const State& s = *state_;
  std::vector<Segment> segments;
  for (const State::Block& head : s.blocks) {
    if (!head.in_use || !head.mapped) continue;
    if (head.previous != State::kNone && s.blocks[static_cast<size_t>(head.previous)].mapped) continue;
    Segment segment{static_cast<int64_t>(head.address), Bytes(), head.small, head.expandable != State::kNone, {}};
    int32_t at = static_cast<int32_t>(&head - s.blocks.data());
    while (at != State::kNone && s.blocks[static_cast<size_t>(at)].mapped) {
      const State::Block& block = s.blocks[static_cast<size_t>(at)];
      segment.size += Bytes::Of(block.size);
      segment.blocks.push_back({static_cast<int64_t>(block.address), Bytes::Of(block.size), Bytes::Of(block.requested),
                                block.live ? at : -1});
      at = block.next;
    }
    segments.push_back(std::move(segment));
  }
  std::sort(segments.begin(), segments.end(), [](const Segment& a, const Segment& b) { return a.address < b.address; });
  return segments;
}

}  // namespace vramplan
