#include "planner/report/writing/style.h"

#include <algorithm>

#include "graph/base/text_table.h"

namespace vramplan {

int RoomLeft(std::string_view text, const Style& style) {
  return style.verbose ? kAnyRoom : kBriefLines - static_cast<int>(std::ranges::count(text, '\n'));
}

std::string Indented(const std::string& line, const Style& style) {
  return "  " + Wrapped(line, style.width - 2, "    ") + "\n";
}

}  // namespace vramplan
