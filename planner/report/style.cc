#include "planner/report/style.h"

#include "graph/base/text_table.h"

namespace vramplan {

std::string Indented(const std::string& line, const Style& style) {
  return "  " + Wrapped(line, style.width - 2, "    ") + "\n";
}

}  // namespace vramplan
