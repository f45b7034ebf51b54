#include "pretend/card/address_space.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace pretend {
namespace {

// As much as a process may have many times over; a limit on addresses (ulimit -v) halves it until it is granted.
constexpr uint64_t kRegion = uint64_t{8} << 40;
// Then what was given back is used again. A process has 128 TiB of addresses, and other cards want some.
constexpr size_t kMostRegions = 4;

uint64_t RoundedUp(uint64_t bytes) {
  const uint64_t unit = AddressSpace::kUnit;
  return bytes > UINT64_MAX - unit ? 0 : (bytes + unit - 1) / unit * unit;
}

}  // namespace

AddressSpace::~AddressSpace() {
  for (const Region& region : regions_) munmap(reinterpret_cast<void*>(region.begin), region.bytes);
}

bool AddressSpace::Grow(uint64_t bytes) {
  const uint64_t least = bytes + 2 * kUnit;
  for (uint64_t size = std::max(kRegion, least); size >= least; size /= 2) {
    void* const begin = mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (begin == MAP_FAILED) continue;
    // Addresses that nobody may touch would only make a core file larger.
    madvise(begin, size, MADV_DONTDUMP);
    const auto address = reinterpret_cast<uint64_t>(begin);
    regions_.push_back({address, size, RoundedUp(address)});
    return true;
  }
  return false;
}

uint64_t AddressSpace::Take(uint64_t bytes) {
  const uint64_t size = RoundedUp(bytes);
  if (size == 0) return 0;
  const auto has_room = [&](const Region& region) { return region.begin + region.bytes - region.next >= size; };
  if (regions_.empty() || !has_room(regions_.back())) {
    const auto free = given_.find(size);
    const bool again = free != given_.end() && !free->second.empty();
    if (again && regions_.size() >= kMostRegions) {
      const uint64_t address = free->second.back();
      free->second.pop_back();
      taken_[address] = size;
      return address;
    }
    if (!Grow(size)) return 0;
  }
  Region& region = regions_.back();
  const uint64_t address = region.next;
  // One unit between neighbours, unless the region ends here.
  region.next = std::min(address + size + kUnit, region.begin + region.bytes);
  taken_[address] = size;
  return address;
}

bool AddressSpace::Give(uint64_t address) {
  const auto range = taken_.find(address);
  if (range == taken_.end()) return false;
  given_[range->second].push_back(address);
  taken_.erase(range);
  return true;
}

bool AddressSpace::Owns(uint64_t address) const {
  return std::ranges::any_of(regions_, [&](const Region& region) { return address - region.begin < region.bytes; });
}

AddressSpace::Range AddressSpace::RangeOf(uint64_t address) const {
  const auto after = taken_.upper_bound(address);
  if (after == taken_.begin()) return {};
  const auto& [begin, bytes] = *std::prev(after);
  return address - begin < bytes ? Range{begin, bytes} : Range{};
}

}  // namespace pretend
