#include "tests/support/slow_allocator.h"

#include <algorithm>
#include <iterator>

#include "graph/base/check.h"

namespace vramplan::testing {
namespace {

constexpr int64_t kKiB = 1024, kMiB = 1024 * kKiB;

}  // namespace

// 512 B granules; above 512 B * divisions, the distance between two powers of two in equal parts.
int64_t SlowAllocator::Rounded(int64_t bytes) const {
  if (bytes < 512) return 512;
  if (!config_.roundup_power2_divisions.empty()) {
    size_t interval = 0;  // 0: below 2 MiB, 1: below 4 MiB, ... 15: the rest
    while (interval < 15 && bytes >= (2 * kMiB << interval)) ++interval;
    const int64_t divisions = config_.roundup_power2_divisions[interval];
    if (divisions > 1 && bytes > 512 * divisions) {
      int64_t power = 512;
      while (2 * power <= bytes) power *= 2;
      int64_t rounded = power;
      while (rounded < bytes) rounded += power / divisions;
      return rounded;
    }
  }
  while (bytes % 512 != 0) bytes += 512 - bytes % 512;
  return bytes;
}

int64_t SlowAllocator::SegmentSize(int64_t size) const {
  if (size <= kMiB) return 2 * kMiB;
  if (size < 10 * kMiB) return config_.large_segment_size.count();
  int64_t segment = size - size % (2 * kMiB);
  if (segment < size) segment += 2 * kMiB;
  return segment;
}

int64_t SlowAllocator::Reserved() const {
  int64_t sum = 0;
  for (const Segment& segment : segments_) {
    if (segment.page == 0) sum += segment.size;
    for (const bool page : segment.mapped) sum += page ? segment.page : 0;
  }
  return sum;
}

std::list<SlowAllocator::Gap> SlowAllocator::Gaps(bool small) {
  std::list<Gap> gaps;
  for (auto segment = segments_.begin(); segment != segments_.end(); ++segment) {
    if (segment->small != small) continue;
    std::list<Live> fences = segment->live;  // between one at the begin and one at the end
    fences.push_front({-1, segment->begin, 0, 0});
    fences.push_back({-1, segment->begin + segment->size, 0, 0});
    for (auto left = fences.begin(); std::next(left) != fences.end(); ++left) {
      const int64_t begin = left->begin + left->size, end = std::next(left)->begin;
      if (begin == end) continue;
      if (segment->page == 0) {
        gaps.push_back({segment, begin, end - begin, end - begin});
        continue;
      }
      // Runs of memory within the gap, each with the unmapped run behind it.
      int64_t at = begin;
      const auto run = [&](bool mapped) {
        const int64_t from = at;
        while (at < end && segment->mapped[static_cast<size_t>((at - segment->begin) / segment->page)] == mapped) {
          const int64_t page = (at - segment->begin) / segment->page;
          at = std::min(end, segment->begin + (page + 1) * segment->page);
        }
        return at - from;
      };
      run(false);
      while (at < end) {
        const int64_t from = at, size = run(true);
        gaps.push_back({segment, from, size, size + run(false)});
      }
    }
  }
  return gaps;
}

std::optional<SlowAllocator::Gap> SlowAllocator::BestFit(bool small, int64_t size) {
  std::list<Gap> fitting = Gaps(small);
  fitting.remove_if([&](const Gap& gap) { return gap.size < size; });
  if (fitting.empty()) return std::nullopt;
  fitting.sort([](const Gap& a, const Gap& b) { return a.size != b.size ? a.size < b.size : a.begin < b.begin; });
  auto best = fitting.begin();
  if (config_.expandable_segments) {
    while (std::next(best) != fitting.end() && std::next(best)->grown < best->grown) ++best;
  }
  if (config_.max_split_size) {
    const int64_t limit = config_.max_split_size->count();
    if (size < limit && best->size >= limit) return std::nullopt;
    if (size >= limit && best->size >= size + config_.max_non_split_rounding.count()) return std::nullopt;
  }
  return *best;
}

SlowAllocator::Gap SlowAllocator::GapAt(bool small, int64_t begin) {
  for (const Gap& gap : Gaps(small)) {
    if (gap.begin == begin) return gap;
  }
  FailCheck(__FILE__, __LINE__, "no gap");
}

std::optional<SlowAllocator::Gap> SlowAllocator::Obtain(bool small, int64_t size) {
  const int64_t segment = SegmentSize(size);
  if (config_.per_process_memory_fraction < 1) {
    const auto allowed = static_cast<int64_t>(config_.per_process_memory_fraction * static_cast<double>(capacity_));
    if (Reserved() + segment > allowed) return std::nullopt;
  }
  if (config_.expandable_segments) return Grow(small, size);
  if (Reserved() + segment > capacity_) return std::nullopt;
  segments_.push_back({next_address_, segment, small, {}, 0, {}, large_lookups_});
  next_address_ += (segment + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB) + 2 * kMiB;
  return GapAt(small, segments_.back().begin);
}

// The first room between live blocks that reaches into unmapped pages and is large enough; pages are mapped from its
// begin.
std::optional<SlowAllocator::Gap> SlowAllocator::Grow(bool small, int64_t size) {
  const int64_t page = small ? 2 * kMiB : config_.large_segment_size.count();
  std::list<Segment>::iterator place = segments_.end();
  int64_t begin = 0;
  for (auto segment = segments_.begin(); segment != segments_.end() && place == segments_.end(); ++segment) {
    if (segment->small != small) continue;
    int64_t from = segment->begin;
    std::list<Live> fences = segment->live;
    fences.push_back({-1, segment->begin + segment->size, 0, 0});
    for (const Live& fence : fences) {
      bool unmapped = false;
      for (int64_t at = from; at < fence.begin; ++at) {
        const int64_t p = (at - segment->begin) / page;
        unmapped = unmapped || !segment->mapped[static_cast<size_t>(p)];
        at = segment->begin + (p + 1) * page - 1;
      }
      if (unmapped && fence.begin - from >= size && place == segments_.end()) {
        place = segment;
        begin = from;
      }
      from = fence.begin + fence.size;
    }
  }
  if (place == segments_.end()) {
    const int64_t space = (capacity_ + capacity_ / 8 + page - 1) / page * page;
    segments_.push_back(
        {next_address_, space, small, {}, page, std::vector<bool>(static_cast<size_t>(space / page)), 0});
    next_address_ += (space + 2 * kMiB - 1) / (2 * kMiB) * (2 * kMiB) + 2 * kMiB;
    place = std::prev(segments_.end());
    begin = place->begin;
  }
  // One unmapped run after the other, each wholly or not at all.
  const auto first_unmapped = [&] {
    int64_t at = begin;
    while (at < begin + size && place->mapped[static_cast<size_t>((at - place->begin) / page)]) {
      at = place->begin + ((at - place->begin) / page + 1) * page;
    }
    return at;
  };
  for (int64_t at = first_unmapped(); at < begin + size; at = first_unmapped()) {
    const auto first = static_cast<size_t>((at - place->begin) / page);
    size_t last = first;
    while (place->begin + static_cast<int64_t>(last) * page < begin + size && last < place->mapped.size() &&
           !place->mapped[last]) {
      ++last;
    }
    if (Reserved() + static_cast<int64_t>(last - first) * page > capacity_) return std::nullopt;
    std::fill(place->mapped.begin() + static_cast<std::ptrdiff_t>(first),
              place->mapped.begin() + static_cast<std::ptrdiff_t>(last), true);
  }
  return GapAt(small, begin);
}

void SlowAllocator::CollectGarbage() {
  const auto allowed = static_cast<int64_t>(config_.per_process_memory_fraction * static_cast<double>(capacity_));
  const int64_t excess =
      Reserved() - static_cast<int64_t>(config_.garbage_collection_threshold * static_cast<double>(allowed));
  if (excess <= 0) return;
  const auto collectable = [](const Segment& s) { return !s.small && s.live.empty() && s.page == 0; };
  int64_t reclaimed = 0;
  while (reclaimed < excess) {
    int64_t count = 0, ages = 0, freed = 0;
    for (const Segment& segment : segments_) {
      if (!collectable(segment)) continue;
      ++count;
      ages += large_lookups_ - segment.free_since;
    }
    if (count == 0) return;
    const double average = static_cast<double>(ages) / static_cast<double>(count);
    segments_.remove_if([&](const Segment& segment) {
      if (!collectable(segment) || static_cast<double>(large_lookups_ - segment.free_since) < average) return false;
      freed += segment.size;
      return true;
    });
    if (freed == 0) return;
    reclaimed += freed;
  }
}

bool SlowAllocator::ReleaseOversize(bool small, int64_t size) {
  if (!config_.max_split_size || config_.expandable_segments) return false;
  const int64_t wanted = std::max(size, config_.max_split_size->count());
  std::list<Gap> gaps = Gaps(small);
  gaps.sort([](const Gap& a, const Gap& b) { return a.size != b.size ? a.size < b.size : a.begin < b.begin; });
  for (const Gap& gap : gaps) {
    if (gap.size < wanted) continue;
    segments_.erase(gap.segment);
    return true;
  }
  int64_t released = 0;
  while (released < wanted && !gaps.empty() && gaps.back().size >= config_.max_split_size->count()) {
    released += gaps.back().size;
    segments_.erase(gaps.back().segment);
    gaps.pop_back();
  }
  return released >= wanted;
}

void SlowAllocator::EmptyCache() {
  for (const bool small : {false, true}) {
    std::list<Segment*> touched;
    for (const Gap& gap : Gaps(small)) {
      Segment& segment = *gap.segment;
      for (size_t p = 0; p < segment.mapped.size(); ++p) {
        const int64_t page = segment.begin + static_cast<int64_t>(p) * segment.page;
        if (page < gap.begin || page + segment.page > gap.begin + gap.size) continue;
        segment.mapped[p] = false;
        touched.push_back(&segment);
      }
    }
    segments_.remove_if([&](const Segment& segment) {
      if (segment.small != small || !segment.live.empty()) return false;
      if (segment.page == 0) return true;
      const bool empty = std::find(segment.mapped.begin(), segment.mapped.end(), true) == segment.mapped.end();
      return empty && std::find(touched.begin(), touched.end(), &segment) != touched.end();
    });
  }
}

std::optional<SlowAllocator::Allocation> SlowAllocator::Allocate(Bytes bytes) {
  const int64_t size = Rounded(bytes.count());
  const bool small = size <= kMiB;
  const bool collects = config_.garbage_collection_threshold > 0 && config_.per_process_memory_fraction < 1;
  if (!small) ++large_lookups_;
  std::optional<Gap> gap = BestFit(small, size);
  if (!gap && collects) CollectGarbage();
  if (!gap) gap = Obtain(small, size);
  if (!gap && ReleaseOversize(small, size)) gap = Obtain(small, size);
  if (!gap) {
    EmptyCache();
    ++retries_;
    gap = Obtain(small, size);
  }
  if (!gap) return std::nullopt;

  const int64_t rest = gap->size - size;
  const bool split = small || config_.expandable_segments
                         ? rest >= 512
                         : rest > kMiB && (!config_.max_split_size || size < config_.max_split_size->count());
  const Live live{next_id_++, gap->begin, split ? size : gap->size, bytes.count()};
  auto after = gap->segment->live.begin();
  while (after != gap->segment->live.end() && after->begin < live.begin) ++after;
  gap->segment->live.insert(after, live);
  return Allocation{live.id, Bytes::Of(live.size), live.begin};
}

void SlowAllocator::Free(int id) {
  for (Segment& segment : segments_) {
    const size_t before = segment.live.size();
    segment.live.remove_if([&](const Live& live) { return live.id == id; });
    if (segment.live.empty() && before == 1) segment.free_since = large_lookups_;
  }
}

AllocatorStatistics SlowAllocator::statistics() const {
  AllocatorStatistics sums;
  sums.reserved = Bytes::Of(Reserved());
  sums.retries = retries_;
  for (const Segment& segment : segments_) {
    sums.segments += segment.page == 0;
    for (const Live& live : segment.live) {
      sums.requested += Bytes::Of(live.requested);
      sums.allocated += Bytes::Of(live.size);
    }
  }
  return sums;
}

}  // namespace vramplan::testing
