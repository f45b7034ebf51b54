#include "graph/onnx/quoted.h"

#include <cstdio>

namespace vramplan {

std::string Quoted(std::string_view name) {
  constexpr size_t kMaxShown = 120;
  std::string text = "'";
  for (const char c : name.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      text.push_back(c);
    } else {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\x%02x", byte);
      text += escape;
    }
  }
  return text + (name.size() > kMaxShown ? "...'" : "'");
}

}  // namespace vramplan
