// expandable_segments:True. Each pool has one stretch of addresses, backed by memory page by page (2 MiB in the small
// pool, 20 MiB in the large one):
//
//   | live | free | live | free ....|......... unmapped ..........|
//   |<------- mapped: `reserved` -->|   taken when a request needs it, given back page by page when the device is full
//
// Follows ExpandableSegment, find_expandable_block, map_block and unmap_block of c10/cuda/CUDACachingAllocator.cpp,
// PyTorch 2.10.
#include <algorithm>

#include "graph/base/check.h"
#include "planner/allocator/caching_allocator_state.h"

namespace vramplan {
namespace {

int64_t Pages(int64_t size, int64_t page) { return (size + page - 1) / page; }

}  // namespace

void CachingAllocator::State::InsertUnmapped(int32_t block) {
  std::vector<int32_t>& unmapped = PoolOf(blocks[static_cast<size_t>(block)]).unmapped;
  const auto at = std::lower_bound(unmapped.begin(), unmapped.end(), block, [&](int32_t a, int32_t b) {
    return blocks[static_cast<size_t>(a)].address < blocks[static_cast<size_t>(b)].address;
  });
  unmapped.insert(at, block);
}

void CachingAllocator::State::RemoveUnmapped(int32_t block) {
  std::vector<int32_t>& unmapped = PoolOf(blocks[static_cast<size_t>(block)]).unmapped;
  const auto at = std::find(unmapped.begin(), unmapped.end(), block);
  CHECK(at != unmapped.end());
  unmapped.erase(at);
}

// find_expandable_block: the lowest run of free and unmapped blocks that is large enough.
int32_t CachingAllocator::State::FindExpandable(Pool& pool, int64_t size) {
  const auto usable = [&](int32_t b) { return b != kNone && !blocks[static_cast<size_t>(b)].live; };
  for (int32_t candidate : pool.unmapped) {
    const int32_t before = blocks[static_cast<size_t>(candidate)].previous;
    const int32_t first = usable(before) ? before : candidate;
    int64_t room = 0;
    for (int32_t b = first; room < size && usable(b); b = blocks[static_cast<size_t>(b)].next) {
      room += blocks[static_cast<size_t>(b)].size;
    }
    if (room >= size) return first;
  }
  // Addresses for 1 1/8 of the device's memory.
  const int64_t page = pool.small ? kSmallBuffer : config.large_segment_size.count();
  const int64_t space = Pages(capacity + capacity / 8, page) * page;
  expandables.push_back({TakeAddresses(space), space, page});
  const int32_t block = NewBlock(expandables.back().address, space, pool.number);
  blocks[static_cast<size_t>(block)].mapped = false;
  blocks[static_cast<size_t>(block)].expandable = static_cast<int32_t>(expandables.size()) - 1;
  InsertUnmapped(block);
  return block;
}

// map_block
bool CachingAllocator::State::MapBlock(int32_t block, int64_t size) {
  Block& slot = blocks[static_cast<size_t>(block)];
  const Expandable& segment = expandables[static_cast<size_t>(slot.expandable)];
  CHECK(!slot.mapped && (slot.address - segment.address) % static_cast<uint64_t>(segment.page) == 0);
  const int64_t mapped = Pages(size, segment.page) * segment.page;
  if (!TakeFromDevice(mapped)) return false;
  RemoveUnmapped(block);
  slot.mapped = true;
  if (mapped < slot.size) {
    const uint64_t address = slot.address + static_cast<uint64_t>(mapped);
    const int32_t rest = NewBlock(address, slot.size - mapped, slot.pool);  // moves the blocks: `slot` is gone
    Block& front = blocks[static_cast<size_t>(block)];
    Block& back = blocks[static_cast<size_t>(rest)];
    back.mapped = false;
    back.expandable = front.expandable;
    back.previous = block;
    back.next = front.next;
    if (back.next != kNone) blocks[static_cast<size_t>(back.next)].previous = rest;
    front.next = rest;
    front.size = mapped;
    InsertUnmapped(rest);
  }
  TryMerge(block, blocks[static_cast<size_t>(block)].previous);
  TryMerge(block, blocks[static_cast<size_t>(block)].next);
  InsertFree(block);
  return true;
}

// try_allocate_expandable_block
int32_t CachingAllocator::State::GrowExpandable(Pool& pool, int64_t size) {
  if (capacity == 0) return kNone;  // the context alone fills the card, so there are no addresses
  int32_t candidate = FindExpandable(pool, size);
  if (!blocks[static_cast<size_t>(candidate)].mapped &&
      !MapBlock(candidate, std::min(blocks[static_cast<size_t>(candidate)].size, size))) {
    return kNone;
  }
  while (blocks[static_cast<size_t>(candidate)].size < size) {
    const Block& block = blocks[static_cast<size_t>(candidate)];
    const int32_t next = block.next;
    if (!MapBlock(next, std::min(size - block.size, blocks[static_cast<size_t>(next)].size))) return kNone;
    candidate = next;  // it was merged with the free block before it
  }
  const Block& block = blocks[static_cast<size_t>(candidate)];
  pool.free.Remove(block.size, block.address);
  return candidate;
}

// unmap_block and release_expandable_segment: unmaps the pages that lie wholly inside a free block.
void CachingAllocator::State::UnmapBlock(int32_t block) {
  const Block whole = blocks[static_cast<size_t>(block)];
  const Expandable& segment = expandables[static_cast<size_t>(whole.expandable)];
  const auto offset = static_cast<int64_t>(whole.address - segment.address);
  const int64_t begin = Pages(offset, segment.page) * segment.page;
  const int64_t end = (offset + whole.size) / segment.page * segment.page;
  if (begin >= end) return;
  PoolOf(whole).free.Remove(whole.size, whole.address);
  device_used -= end - begin;
  statistics.reserved -= Bytes::Of(end - begin);

  const auto keep = [&](uint64_t address, int64_t size, int32_t previous, int32_t next) {
    if (size == 0) return;
    const int32_t part = NewBlock(address, size, whole.pool);
    Block& slot = blocks[static_cast<size_t>(part)];
    slot.expandable = whole.expandable;
    slot.previous = previous;
    slot.next = next;
    if (previous != kNone) blocks[static_cast<size_t>(previous)].next = part;
    if (next != kNone) blocks[static_cast<size_t>(next)].previous = part;
    InsertFree(part);
  };
  keep(whole.address, begin - offset, whole.previous, block);
  keep(segment.address + static_cast<uint64_t>(end), offset + whole.size - end, block, whole.next);

  blocks[static_cast<size_t>(block)].address = segment.address + static_cast<uint64_t>(begin);
  blocks[static_cast<size_t>(block)].size = end - begin;
  blocks[static_cast<size_t>(block)].mapped = false;
  TryMerge(block, blocks[static_cast<size_t>(block)].previous);
  TryMerge(block, blocks[static_cast<size_t>(block)].next);
  if (blocks[static_cast<size_t>(block)].IsSplit()) {
    InsertUnmapped(block);
  } else {
    DropBlock(block);  // nothing of the segment is left: its addresses are given back
  }
}

}  // namespace vramplan
