#include "planner/runtimes/memory_pattern.h"

#include <algorithm>
#include <limits>

namespace vramplan {

// TraceAllocation
void MemoryPattern::Allocate(ValueId owner, Bytes aligned, SizeExpr bytes) {
  const int64_t size = aligned.count();
  if (size == 0) return;
  Placed placed{owner, 0, size, bytes};
  auto before = live_.end();
  SizeExpr begin;
  if (!live_.empty()) {
    placed.offset = live_.back().offset + live_.back().size;
    begin = live_.back().end;
  }
  int64_t waste = std::numeric_limits<int64_t>::max(), gap_begin = 0;
  SizeExpr gap_bytes;
  for (auto it = live_.begin(); it != live_.end(); ++it) {
    const int64_t gap = it->offset - gap_begin;
    if (gap >= size && gap - size < waste) {
      waste = gap - size;
      before = it;
      placed.offset = gap_begin;
      begin = gap_bytes;
    }
    gap_begin = it->offset + it->size;
    gap_bytes = it->end;
  }
  placed.end = begin + bytes;
  if (placed.offset + size > peak_) {
    peak_ = placed.offset + size;
    peak_bytes_ = placed.end;
  }
  live_.insert(before, placed);
}

// TraceFree
void MemoryPattern::Free(ValueId owner) {
  const auto found = std::find_if(live_.begin(), live_.end(), [&](const Placed& p) { return p.owner == owner; });
  if (found != live_.end()) live_.erase(found);
}

SizeExpr MemoryPattern::PeakAround(int64_t batch) const {
  const Bytes rounding = Bytes::Of(peak_) - peak_bytes_.At(batch);
  return peak_bytes_ + SizeExpr::Constant(std::max(Bytes(), rounding));
}

}  // namespace vramplan
