#include "graph/onnx/names.h"

#include <algorithm>
#include <cstdint>

namespace vramplan {
namespace {

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

// The length of the printable UTF-8 character at the front of `text`; 0 when there is none: a control character, a byte
// that begins nothing, an overlong form, a surrogate.
size_t CharacterLength(std::string_view text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<uint8_t>(text[i]) : 0; };
  const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
  const int first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  if (first >= 0xc2 && first < 0xe0)
    return follows(1) && !(first == 0xc2 && byte(1) < 0xa0) ? 2 : 0;  // c2 80 .. c2 9f: C1 controls
  if (first >= 0xe0 && first < 0xf0) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

}  // namespace

std::string Printable(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), IsPlain)) return std::string(name);
  std::string text;
  while (!name.empty()) {
    const size_t length = name.front() == '\\' ? 0 : CharacterLength(name);
    if (length > 0) {
      text.append(name.substr(0, length));
    } else {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto byte = static_cast<uint8_t>(name.front());
      text.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
    name.remove_prefix(std::max<size_t>(length, 1));
  }
  return text;
}

std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 120;
  return "'" + Printable(name.substr(0, kMaxShown)) + (name.size() > kMaxShown ? "...'" : "'");
}

std::string Part::Text() const {
  std::string text = std::string(kind) + " " + QuotedName(name);
  if (!node.empty()) text += " of node " + QuotedName(node);
  return text;
}

}  // namespace vramplan
