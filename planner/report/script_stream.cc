#include "planner/report/script_stream.h"

#include <algorithm>
#include <unordered_map>

#include "pretend/recording/moment.h"

namespace vramplan {
namespace {

// `replay` splits at commas, and names of files may have some.
std::string Cell(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c == ',' || c == '\n' || c == '\r'; }, ';');
  return text;
}

}  // namespace

std::string StreamOf(const Recording& recording) {
  std::string text = std::string(kScriptColumns) + "\n";
  std::unordered_map<uint64_t, int64_t> ids;  // of what is live, by address
  int64_t next = 0;
  const bool was_full = !recording.last || recording.last->retries > 0 || !recording.refusals.empty();
  bool given_back = false;
  for (const HistoryEvent& event : recording.history) {
    // A cache is given back segment by segment.
    if (event.kind == HistoryKind::kSegmentGone && !given_back && !was_full) text += "empty_cache,,,,,,\n";
    given_back = event.kind == HistoryKind::kSegmentGone;
    if (event.kind == HistoryKind::kAllocate) {
      const CodePlace place = PlaceOf(recording, event.stack);
      ids[event.address] = next;
      text += "alloc," + std::to_string(next++) + "," + std::to_string(event.bytes.count()) + "," + Cell(place.file) +
              "," + (place.file.empty() ? "" : std::to_string(place.line)) + "," + Cell(place.function) + "," +
              (event.module < 0 ? "" : Cell(recording.modules[static_cast<size_t>(event.module)])) + "\n";
    } else if (event.kind == HistoryKind::kFree) {
      const auto id = ids.find(event.address);
      if (id == ids.end()) continue;  // born before the history began
      text += "free," + std::to_string(id->second) + "," + std::to_string(event.bytes.count()) + ",,,,\n";
      ids.erase(id);
    }
  }
  return text;
}

}  // namespace vramplan
