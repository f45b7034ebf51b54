#include "planner/report/asked.h"

#include <string_view>

namespace vramplan {

std::string ErrorLine(const Asked& asked) {
  std::string line = asked.err;
  while (line.ends_with('\n')) line.pop_back();
  line.erase(0, line.rfind('\n') + 1);
  constexpr std::string_view kName = "vramplan: ";
  return line.starts_with(kName) ? line.substr(kName.size()) : line;
}

}  // namespace vramplan
