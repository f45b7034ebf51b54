#include "graph/base/printable.h"

#include <algorithm>
#include <cstdint>

namespace vramplan {
namespace {

bool IsPlain(char c) { return c >= 0x20 && c < 0x7f && c != '\\'; }

// U+2028 and U+2029 end a line (YAML 1.1, JavaScript); U+202A to U+202E and U+2066 to U+2069 turn the direction of what
// follows, so that code reads as something else than it is (CVE-2021-42574).
bool BreaksOrTurnsLine(std::string_view text) {
  if (text.size() < 3 || text[0] != '\xe2') return false;
  const auto second = static_cast<uint8_t>(text[1]), third = static_cast<uint8_t>(text[2]);
  return (second == 0x80 && third >= 0xa8 && third <= 0xae) || (second == 0x81 && third >= 0xa6 && third <= 0xa9);
}

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
    if (BreaksOrTurnsLine(text)) return 0;
    const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) >= 0xa0;
    return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first < 0xf5) {
    const bool overlong = first == 0xf0 && byte(1) < 0x90, beyond = first == 0xf4 && byte(1) >= 0x90;
    return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

// `escaped`: whether a backslash is written as \x5c, too.
std::string Visible(std::string_view text, bool escaped) {
  std::string visible;
  while (!text.empty()) {
    const size_t length = escaped && text.front() == '\\' ? 0 : CharacterLength(text);
    if (length > 0) {
      visible.append(text.substr(0, length));
    } else {
      constexpr char kDigits[] = "0123456789abcdef";
      const auto byte = static_cast<uint8_t>(text.front());
      visible.append("\\x").append(1, kDigits[byte >> 4]).append(1, kDigits[byte & 15]);
    }
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return visible;
}

}  // namespace

std::string Printable(std::string_view name) {
  if (std::all_of(name.begin(), name.end(), IsPlain)) return std::string(name);
  return Visible(name, true);
}

std::string OneLine(std::string_view text) { return Visible(text, false); }

}  // namespace vramplan
