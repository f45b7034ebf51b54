// What a text has up to a line's end, a space or another character; it is taken from it.
#pragma once

#include <string_view>

namespace vramplan {

inline std::string_view TakeUpTo(char end, std::string_view* text) {
  const size_t at = text->find(end);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == std::string_view::npos ? text->size() : at + 1);
  return taken;
}

inline std::string_view TakeLine(std::string_view* text) { return TakeUpTo('\n', text); }
inline std::string_view TakeWord(std::string_view* line) { return TakeUpTo(' ', line); }

}  // namespace vramplan
