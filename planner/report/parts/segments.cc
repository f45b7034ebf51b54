#include "planner/report/parts/segments.h"

#include <algorithm>

#include "graph/base/check.h"
#include "graph/base/text_table.h"
#include "planner/report/writing/numbers.h"

namespace vramplan {
namespace {

constexpr size_t kPrinted = 24;  // segments with a row of their own
constexpr int kPictureWidth = 32;

// '#' live, '.' free, ':' both, from the segment's address on.
std::string Picture(const Segment& segment) {
  std::string drawn;
  const int64_t size = std::max<int64_t>(1, segment.size.count());
  for (int cell = 0; cell < kPictureWidth; ++cell) {
    const int64_t from = segment.address + size / kPictureWidth * cell;
    const int64_t to = cell + 1 == kPictureWidth ? segment.address + size : from + size / kPictureWidth;
    bool live = false, free = false;
    for (const SegmentBlock& block : segment.blocks) {
      if (block.address < to && block.address + block.size.count() > from) (block.live() ? live : free) = true;
    }
    drawn += live ? (free ? ':' : '#') : '.';
  }
  return drawn;
}

std::string PrintFree(const FreeMemory& free, Bytes slack, const Style& style) {
  std::string text;
  const auto line = [&](const std::string& sentence) { text += Wrapped(sentence, style.width, "  ") + "\n"; };
  if (free.holes > Bytes()) {
    line(ToString(free.holes) + " in holes of " + Counted(free.torn, "segment") + ": nothing larger than " +
         ToString(free.largest_hole) +
         " fits there, and no segment goes back to the driver before its live blocks die");
  }
  if (free.whole_segments > Bytes()) {
    line(ToString(free.whole_segments) + " in " + Counted(free.whole, "segment") +
         " wholly free: cached, and given back when the card is full");
  }
  if (free.small_pool > Bytes()) {
    line(ToString(free.small_pool) + " in " + Counted(free.small, "segment") +
         " of the small pool: only for requests of up to 1 MiB");
  }
  if (slack > Bytes()) {
    line(ToString(slack) +
         " inside live blocks: sizes are rounded up to 512 B, and a rest of up to 1 MiB is not split "
         "off a large block");
  }
  return text;
}

}  // namespace

Bytes FreeOf(const Segment& segment) {
  Bytes free;
  for (const SegmentBlock& block : segment.blocks) free += block.live() ? Bytes() : block.size;
  return free;
}

Bytes LargestHole(const Segment& segment) {
  Bytes largest;
  for (const SegmentBlock& block : segment.blocks) {
    if (!block.live()) largest = std::max(largest, block.size);
  }
  return largest;
}

FreeMemory FreeIn(const std::vector<Segment>& segments) {
  FreeMemory free;
  for (const Segment& segment : segments) {
    const Bytes bytes = FreeOf(segment);
    if (bytes == Bytes()) continue;
    if (bytes == segment.size) {
      free.whole_segments += bytes;
      ++free.whole;
    } else if (segment.small_pool) {
      free.small_pool += bytes;
      ++free.small;
    } else {
      free.holes += bytes;
      ++free.torn;
      free.largest_hole = std::max(free.largest_hole, LargestHole(segment));
    }
  }
  return free;
}

std::string PrintSegments(const PeakSegments& at_peak, const PeakMoment& moment, const Style& style) {
  using enum TextTable::Align;
  const FreeMemory free = FreeIn(at_peak.segments);
  const Bytes unused = free.whole_segments + free.holes + free.small_pool;
  CHECK(unused == moment.levels.reserved - moment.levels.allocated);
  std::string text = "segments at the peak: " + std::to_string(at_peak.segments.size()) + ", " +
                     ToString(moment.levels.reserved) + "; free " + ToString(unused) + "\n";
  text += PrintFree(free, moment.slack, style) + "\n";
  TextTable table({{"segment", kRight},
                   {"pool"},
                   {"size", kRight},
                   {"free", kRight},
                   {"largest hole", kRight},
                   {"# live, . free, : both"}});
  // Those with the most free memory, by address.
  std::vector<size_t> order(at_peak.segments.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return FreeOf(at_peak.segments[a]) > FreeOf(at_peak.segments[b]); });
  order.resize(std::min(order.size(), kPrinted));
  std::sort(order.begin(), order.end());
  for (const size_t i : order) {
    const Segment& segment = at_peak.segments[i];
    table.AddRow({std::to_string(i), segment.small_pool ? "small" : "large", ToString(segment.size),
                  ToString(FreeOf(segment)), ToString(LargestHole(segment)), Picture(segment)});
  }
  text += table.Print(style.width);
  if (order.size() < at_peak.segments.size()) {
    text += "  and " + std::to_string(at_peak.segments.size() - order.size()) + " more with less free memory\n";
  }
  return text;
}

}  // namespace vramplan
