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

std::string Counted(int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

std::string SignedText(Bytes bytes, bool plus) {
  if (bytes < Bytes()) return "-" + ToString(Bytes() - bytes);
  return (plus && bytes > Bytes() ? "+" : "") + ToString(bytes);
}

std::string PartText(Bytes part, Bytes whole) {
  if (whole == Bytes()) return "";
  return Formatted("%.1f %%", 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count()));
}

}  // namespace vramplan
