#include "planner/picture/segment_chart.h"

#include <algorithm>

#include "planner/picture/parts.h"
#include "planner/picture/plot.h"
#include "planner/picture/table.h"
#include "planner/report/parts/segments.h"

namespace vramplan {
namespace {

constexpr size_t kDrawn = 28;     // segments with a bar of their own
constexpr int64_t kCells = 1000;  // of the longest bar; what is narrower than one joins its neighbour
constexpr size_t kFreePart = kParts;

struct Stretch {
  int64_t from = 0, to = 0;  // bytes from the segment's begin
  size_t part = kFreePart;
};

// Neighbours of one kind are one stretch; of those narrower than a cell the kind that is before them stands.
std::vector<Stretch> StretchesOf(const Segment& segment, const PeakSegments& at_peak,
                                 const std::vector<std::optional<Category>>& category, int64_t cell) {
  std::vector<Stretch> stretches;
  for (const SegmentBlock& block : segment.blocks) {
    const int64_t from = block.address - segment.address, to = from + block.size.count();
    size_t part = kFreePart;
    if (block.live()) {
      const BlockId owner = at_peak.owners[static_cast<size_t>(block.handle)];
      part = static_cast<size_t>(category[static_cast<size_t>(owner.value)].value_or(Category::kTemporaries));
    }
    const bool joins = !stretches.empty() && (stretches.back().part == part || to - stretches.back().to < cell);
    if (joins) {
      stretches.back().to = to;
    } else {
      stretches.push_back({from, to, part});
    }
  }
  return stretches;
}

Bytes Free(const Segment& segment) {
  Bytes free;
  for (const SegmentBlock& block : segment.blocks) free += block.live() ? Bytes() : block.size;
  return free;
}

}  // namespace

Markup DrawSegments(const Subject& subject, const PeakSegments& at_peak, const PeakMoment& moment) {
  Markup page;
  if (at_peak.segments.empty()) return page;
  const FreeMemory free = FreeIn(at_peak.segments);
  const std::vector<std::optional<Category>> category = CategoriesAfter(subject.timeline, moment.event);
  std::vector<const Segment*> order;
  for (const Segment& segment : at_peak.segments) order.push_back(&segment);
  std::ranges::stable_sort(order, [](const Segment* a, const Segment* b) { return a->size > b->size; });
  const int64_t longest = order.front()->size.count();
  page.Open("figure", {{"class", "chart segments"}, {"id", "segments"}});
  page.Open("div", {{"class", "rows"}});
  for (size_t i = 0; i < std::min(kDrawn, order.size()); ++i) {
    const Segment& segment = *order[i];
    const int64_t size = segment.size.count();
    page.Open("div", {{"class", "segment"}});
    page.Element("span", {{"class", "size"}}, ToString(segment.size));
    page.Open("span", {{"class", "lane"}});
    page.Open("svg", {{"viewBox", "0 0 " + std::to_string(kCells) + " 1"},
                      {"preserveAspectRatio", "none"},
                      {"style", "width:" + PercentOf(static_cast<double>(size), static_cast<double>(longest))},
                      {"role", "img"},
                      {"aria-label", ToString(segment.size) + ", free " + ToString(Free(segment))}});
    for (const Stretch& stretch : StretchesOf(segment, at_peak, category, size / kCells)) {
      const auto cell = [&](int64_t bytes) {
        return std::to_string(static_cast<int64_t>(static_cast<double>(bytes) * kCells / static_cast<double>(size)));
      };
      page.Open("rect", {{"class", stretch.part == kFreePart ? "hole" : PartClass(stretch.part)},
                         {"x", cell(stretch.from)},
                         {"width", cell(stretch.to - stretch.from)},
                         {"height", "1"}});
      const std::string what = stretch.part == kFreePart ? "free" : Parts()[stretch.part].name;
      page.Element("title", {}, what + ", " + ToString(Bytes::Of(stretch.to - stretch.from))).Close();
    }
    page.Close().Close().Close();
  }
  page.Close();
  if (order.size() > kDrawn) {
    Bytes rest, rest_free;
    for (size_t i = kDrawn; i < order.size(); ++i) {
      rest += order[i]->size;
      rest_free += Free(*order[i]);
    }
    page.Element("p", {{"class", "soft"}},
                 "and " + std::to_string(order.size() - kDrawn) + " smaller ones of " + ToString(rest) + " in all, " +
                     ToString(rest_free) + " of them free");
  }
  page.Element(
      "figcaption", {},
      "Each bar is one segment that PyTorch took from the driver; empty places are free, but only for what fits "
      "into them.");
  AddTable({{"free at the peak", false}, {"segments", true}, {"bytes", true}},
           {{"in holes beside live blocks", std::to_string(free.torn), ToString(free.holes)},
            {"in wholly free segments", std::to_string(free.whole), ToString(free.whole_segments)},
            {"in the small pool (up to 1 MiB each)", std::to_string(free.small), ToString(free.small_pool)},
            {"inside live blocks, by rounding", "", ToString(moment.slack)}},
           &page);
  page.Close();
  return page;
}

}  // namespace vramplan
