#include "planner/report/writing/numbers.h"

#include <array>
#include <cstdio>

namespace vramplan {

std::string Formatted(const char* format, double number) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, number);
  return text.data();
}

std::string NumberText(double number) { return Formatted("%.9g", number); }

std::string OrNotSaid(const std::optional<Bytes>& bytes) { return bytes ? ToString(*bytes) : "not said"; }

}  // namespace vramplan
