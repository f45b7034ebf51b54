#include "planner/report/writing/quoting.h"

#include "graph/base/printable.h"

namespace vramplan {

std::string InDocstring(const std::string& text) {
  // In Python \x1b means the byte itself, as a name is compared there; text that ends in a backslash ends no string.
  std::string escaped;
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return OneLine(escaped);
}

std::string InPython(const std::string& text) { return '"' + InDocstring(text) + '"'; }

std::string InComment(const std::string& text) { return OneLine(text); }

std::string InShell(const std::string& text) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%";
  if (!text.empty() && text.find_first_not_of(kPlain) == text.npos) return text;
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace vramplan
