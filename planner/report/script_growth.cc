#include "planner/report/script_growth.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "planner/report/script_places.h"
#include "pretend/recording/moment.h"

namespace vramplan {
namespace {

// A step of a run this long would show it. What takes longer (the numbers of a loss in a list) fills no card.
constexpr int64_t kMostSteps = 100000;
// Below so many steps a mean is of steps that are not alike yet.
constexpr int64_t kFewSteps = 5;

// What is left more after each step from step `first` on; nothing: it fell, or did not rise.
struct Rise {
  int64_t first = 0;  // the step before the first that rose
  Bytes each;
};
std::optional<Rise> RiseOf(const std::vector<RecordedStep>& steps) {
  const auto count = static_cast<int64_t>(steps.size());
  constexpr int64_t kFewest = 3;
  if (count < kFewest) return std::nullopt;
  const auto left = [&](int64_t i) { return steps[static_cast<size_t>(i)].after.requested; };
  Rise rise{std::max<int64_t>(count / 2 - 1, 0), Bytes()};
  int rose = 0;
  for (int64_t i = rise.first + 1; i < count; ++i) {
    if (left(i) < left(i - 1)) return std::nullopt;
    rose += left(i) > left(i - 1) ? 1 : 0;
  }
  if (rose < 2) return std::nullopt;
  const Bytes mean = Bytes::Of((left(count - 1) - left(rise.first)).count() / (count - 1 - rise.first));
  rise.each = count < kFewSteps ? left(count - 1) - left(count - 2) : mean;
  if (rise.each == Bytes()) return std::nullopt;
  return rise;
}

// Blocks that steps after `first` made, the last one left out, and that are alive when the last one is over.
struct Kept {
  Bytes bytes;
  std::map<CodePlace, Bytes> lines;
};
std::optional<Kept> KeptSince(const Recording& recording, int64_t first) {
  const std::vector<RecordedStep>& steps = recording.steps;
  const int64_t begin = steps[static_cast<size_t>(first)].allocations, end = steps.back().allocations;
  const int64_t last = steps[steps.size() - 2].allocations;
  struct Live {
    Bytes bytes;
    int32_t stack = -1;
    int64_t n = 0;
  };
  std::unordered_map<uint64_t, Live> live;
  int64_t n = AllocationsBefore(recording);
  if (n > begin) return std::nullopt;  // the history begins later
  for (const HistoryEvent& event : recording.history) {
    if (event.kind == HistoryKind::kAllocate) {
      if (n == end) break;
      ++n;
      if (n > begin && n <= last) live[event.address] = {event.bytes, event.stack, n};
    } else if (event.kind == HistoryKind::kFree) {
      live.erase(event.address);
    }
  }
  const auto caller = [&](int64_t number) {
    CodePlace place;
    for (const Mark& mark : recording.marks) {
      if (mark.allocations >= number) break;
      if (mark.kind == MarkKind::kBackward) place = mark.place;
    }
    return place;
  };
  Kept kept;
  for (const auto& [address, block] : live) {
    CodePlace place = OwnPlaceOf(recording, block.stack);
    if (place.file.empty()) place = caller(block.n);
    kept.bytes += block.bytes;
    kept.lines[place] += block.bytes;
  }
  return kept;
}

}  // namespace

std::optional<ScriptGrowth> GrowthOf(const ScriptReport& report) {
  const Recording& recording = report.recording;
  const std::optional<Rise> rise = RiseOf(recording.steps);
  if (!rise) return std::nullopt;
  const auto count = static_cast<int64_t>(recording.steps.size());
  ScriptGrowth growth{rise->each, {}, std::nullopt};
  if (const std::optional<Kept> kept = KeptSince(recording, rise->first)) {
    const int64_t made_in = count - 2 - rise->first;  // steps whose blocks are looked at
    if (made_in < 1 || 2 * kept->bytes.count() < rise->each.count() * made_in) return std::nullopt;
    for (const auto& [place, bytes] : kept->lines) growth.lines.push_back({place, Bytes::Of(bytes.count() / made_in)});
    std::ranges::stable_sort(growth.lines, [](const GrownLine& a, const GrownLine& b) { return a.each > b.each; });
  }
  Bytes room = report.device.CapacityWith(report.device.context.likely);
  if (!report.card_given) room = std::ranges::max_element(Cards(), {}, &Card::usable)->usable;
  const Bytes peak = recording.steps.back().peak.reserved;
  const int64_t more = room > peak ? (room - peak).count() / rise->each.count() : 0;
  if (more > kMostSteps) return std::nullopt;
  if (report.card_given && !report.oom) growth.full = count + more + 1;
  return growth;
}

std::string GrowthText(const ScriptGrowth& growth) {
  std::string text = "after each step " + ToString(growth.each) + " more is left";
  constexpr size_t kShown = 3;
  for (size_t i = 0; i < std::min(growth.lines.size(), kShown); ++i) {
    const GrownLine& line = growth.lines[i];
    if (i > 0 && 20 * line.each.count() < growth.each.count()) break;  // crumbs
    text += i == 0 ? ", allocated at " : " and ";
    text += LineText(line.place);
    if (growth.lines.size() > 1 && 20 * growth.lines[0].each.count() < 19 * growth.each.count())
      text += " (" + ToString(line.each) + ")";
  }
  if (growth.full) text += ": full in step " + std::to_string(*growth.full);
  return text;
}

}  // namespace vramplan
