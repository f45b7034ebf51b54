#include "planner/report/script_places.h"

#include "planner/report/parts/model_facts.h"
#include "pretend/recording/moment.h"

namespace vramplan {

bool IsOfLibrary(const std::string& file) {
  // ".../lib/python3.11/threading.py"; a package lies below site-packages or dist-packages, wherever that is.
  return file.empty() || file.starts_with("<") || file.find("-packages/") != std::string::npos ||
         file.find("/lib/python3") != std::string::npos;
}

CodePlace OwnPlaceOf(const Recording& recording, int32_t stack) {
  if (stack < 0) return {};
  for (const int32_t frame : recording.stacks[static_cast<size_t>(stack)]) {
    const CodePlace& place = recording.frames[static_cast<size_t>(frame)];
    if (!IsOfLibrary(place.file)) return place;
  }
  return PlaceOf(recording, stack);
}

std::string ShortFile(const std::string& file) {
  constexpr std::string_view kPackages = "-packages/";
  const size_t packages = file.rfind(kPackages);
  return packages == std::string::npos ? FileName(file) : file.substr(packages + kPackages.size());
}

std::string LineText(const CodePlace& place) {
  if (place.file.empty()) return "(no line of Python)";
  return ShortFile(place.file) + ":" + std::to_string(place.line);
}

std::string LineText(const CodePlace& place, size_t width) {
  const std::string text = LineText(place);
  const size_t first = text.find('/'), last = text.rfind('/');
  if (text.size() <= width || first == last) return text;
  return text.substr(0, first) + "/..." + text.substr(last);
}

}  // namespace vramplan
