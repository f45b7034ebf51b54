#include "planner/report/script_places.h"

#include <optional>

#include "planner/report/parts/model_facts.h"

namespace vramplan {

std::string ShortFile(const std::string& file) {
  constexpr std::string_view kPackages = "-packages/";
  const size_t packages = file.rfind(kPackages);
  return packages == std::string::npos ? FileName(file) : file.substr(packages + kPackages.size());
}

std::string LineText(const CodePlace& place) {
  if (place.file.empty()) return "(no line of Python)";
  return ShortFile(place.file) + ":" + std::to_string(place.line);
}

std::string FunctionText(const CodePlace& place) {
  return place.function.empty() || place.function.starts_with("<") ? "" : " " + place.function;
}

std::string LineText(const CodePlace& place, size_t width) { return CutInMiddle(LineText(place), '/', width); }

std::string CutInMiddle(const std::string& name, char between, size_t width) {
  const size_t first = name.find(between), last = name.rfind(between);
  if (name.size() <= width || first == std::string::npos) return name;
  const std::string dots = between == '.' ? ".." : "...";
  const auto with = [&](const std::string& head) -> std::optional<std::string> {
    for (size_t at = name.find(between, first + 1); at != std::string::npos; at = name.find(between, at + 1))
      if (head.size() + name.size() - at <= width) return head + name.substr(at);
    return std::nullopt;
  };
  // Behind the first part, which of a file is the package, as many of the last ones as there is room for.
  if (between != '.') {
    if (const auto cut = with(name.substr(0, first + 1) + dots)) return *cut;
  }
  return with(dots).value_or(name.substr(last + 1));
}

}  // namespace vramplan
