#include "tests/support/slow_arena.h"

#include <algorithm>
#include <iterator>

namespace vramplan::testing {
namespace {

constexpr int64_t kEndless = int64_t{1} << 60, kPage = int64_t{2} << 20;

}  // namespace

SlowArena::SlowArena(int64_t capacity, const BfcConfig& config)
    : capacity_(std::min(capacity, kEndless)), limit_(std::min(config.limit.count(), kEndless)), config_(config) {
  next_region_ = std::min(limit_, config.first_region.count());
  while (next_region_ % 256 != 0) ++next_region_;
  if (config.growth == BfcGrowth::kWholePool) {
    next_region_ = std::min(limit_, capacity_);
    next_region_ -= next_region_ % 256;
  }
}

int64_t SlowArena::Taken() const {
  int64_t sum = 0;
  for (const Region& region : regions_) sum += region.size;
  return sum;
}

// The smallest gap that is large enough, of these the lowest; what is left over stays free when it is as large as the
// request or 128 MiB.
std::optional<SlowArena::Got> SlowArena::Place(int64_t size, int64_t requested) {
  Region* best = nullptr;
  std::list<Live>::iterator before;
  int64_t best_begin = 0, best_size = 0;
  for (Region& region : regions_) {
    int64_t begin = region.begin;
    for (auto it = region.live.begin();; ++it) {
      const int64_t end = it == region.live.end() ? region.begin + region.size : it->begin;
      const bool fits = end - begin >= size;
      if (fits && (best == nullptr || end - begin < best_size || (end - begin == best_size && begin < best_begin))) {
        best = &region;
        before = it;
        best_begin = begin;
        best_size = end - begin;
      }
      if (it == region.live.end()) break;
      begin = it->begin + it->size;
    }
  }
  if (best == nullptr) return std::nullopt;
  const int64_t rest = best_size - size;
  const int64_t taken = rest >= size || rest >= config_.most_unsplit.count() ? size : best_size;
  best->live.insert(before, Live{next_id_, best_begin, taken, requested});
  furthest_ = std::max(furthest_, best_begin + taken);
  return Got{next_id_++, best_begin, taken};
}

bool SlowArena::Grow(int64_t size) {
  const int64_t left = (limit_ - Taken()) / 256 * 256;
  if (size > left) return false;
  int64_t region = size;
  if (config_.growth == BfcGrowth::kWholePool) {
    region = next_region_;
  } else if (config_.growth == BfcGrowth::kNextPowerOfTwo) {
    const bool enough = size <= next_region_;
    while (size > next_region_) next_region_ *= 2;
    region = std::min(next_region_, left);
    if (enough) next_region_ = std::min({2 * next_region_, config_.largest_doubling.count(), kEndless});
  }
  const int64_t free = capacity_ - Taken();
  if (region > free) ++retries_;
  while (region > free) {
    region = (static_cast<int64_t>(static_cast<float>(region) * 0.9F) + 255) / 256 * 256;
    if (region < size || region < 8192) return false;
  }
  if (region < size) return false;
  regions_.push_back({next_address_, region, {}});
  next_address_ += (region + kPage - 1) / kPage * kPage + kPage;
  return true;
}

std::optional<SlowArena::Got> SlowArena::Allocate(int64_t bytes) {
  const int64_t size = (bytes + 255) / 256 * 256;
  if (auto got = Place(size, bytes)) return got;
  if (Grow(size)) return Place(size, bytes);
  if (!config_.releases_regions) return std::nullopt;
  int64_t empty = 0;
  for (const Region& region : regions_) empty += region.live.empty() ? region.size : 0;
  if (empty == 0 || size > limit_ - Taken() + empty) return std::nullopt;
  regions_.remove_if([](const Region& region) { return region.live.empty(); });
  if (!Grow(size)) return std::nullopt;
  return Place(size, bytes);
}

void SlowArena::Free(int id) {
  for (Region& region : regions_) region.live.remove_if([&](const Live& live) { return live.id == id; });
}

AllocatorStatistics SlowArena::statistics() const {
  AllocatorStatistics sums;
  for (const Region& region : regions_) {
    for (const Live& live : region.live) {
      sums.requested += Bytes::Of(live.requested);
      sums.allocated += Bytes::Of(live.size);
    }
  }
  sums.reserved = Bytes::Of(config_.growth == BfcGrowth::kWholePool ? furthest_ : Taken());
  sums.segments = static_cast<int64_t>(regions_.size());
  sums.retries = retries_;
  return sums;
}

}  // namespace vramplan::testing
