#include "graph/base/bytes.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace vramplan {

std::string ToString(Bytes bytes) {
  const double value = static_cast<double>(bytes.count());
  const double size = std::fabs(value);
  char text[48];
  if (size < 1024) {
    std::snprintf(text, sizeof text, "%lld B", static_cast<long long>(bytes.count()));
  } else if (size < 1048576) {
    std::snprintf(text, sizeof text, "%.2f KiB", value / 1024);
  } else if (size < 1073741824) {
    std::snprintf(text, sizeof text, "%.2f MiB", value / 1048576);
  } else {
    std::snprintf(text, sizeof text, "%.2f GiB", value / 1073741824);
  }
  return text;
}

Result<Bytes> ParseBytes(std::string_view text) {
  const auto wrong = [&](const char* reason) {
    return Error{ErrorCode::kUsage, std::string(text), std::string("is not a size: ") + reason,
                 "write it like 14.56GiB, 512MiB or 1073741824"};
  };
  double number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc()) return wrong("it does not begin with a number");
  if (!std::isfinite(number) || number < 0) return wrong("it is negative or not finite");
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c) {
    if (*c != ' ') unit.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(*c))));
  }
  int64_t factor = 0;
  if (unit.empty() || unit == "b") factor = 1;
  if (unit == "k" || unit == "kb" || unit == "kib") factor = int64_t{1} << 10;
  if (unit == "m" || unit == "mb" || unit == "mib") factor = int64_t{1} << 20;
  if (unit == "g" || unit == "gb" || unit == "gib") factor = int64_t{1} << 30;
  if (unit == "t" || unit == "tb" || unit == "tib") factor = int64_t{1} << 40;
  if (factor == 0) return wrong("its unit is unknown");
  if (number * static_cast<double>(factor) >= 9.2e18) return wrong("it is larger than any memory");
  // Whole numbers to the byte: a double has 53 bits.
  int64_t whole = 0;
  if (std::from_chars(text.data(), end, whole).ptr == end) return Bytes::Of(whole * factor);
  return Bytes::Of(static_cast<int64_t>(number * static_cast<double>(factor)));
}

}  // namespace vramplan
