#include "graph/pt2/expression.h"

#include <cctype>
#include <optional>
#include <vector>

namespace vramplan {
namespace {

constexpr int kDeepestLength = 64;

// Reads "Name(argument, ..., keyword=...)", one call after the other.
class SreprReader {
 public:
  explicit SreprReader(std::string_view text) : text_(text) {}

  std::optional<std::string> Read() {
    std::optional<std::string> read = Call(0);
    SkipSpaces();
    return at_ == text_.size() ? read : std::nullopt;
  }

 private:
  void SkipSpaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool Take(char c) {
    SkipSpaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  // A name, a number, or what stands between quotes.
  std::string Word() {
    SkipSpaces();
    std::string word;
    if (at_ < text_.size() && (text_[at_] == '\'' || text_[at_] == '"')) {
      const char quote = text_[at_++];
      while (at_ < text_.size() && text_[at_] != quote) word += text_[at_++];
      if (at_ < text_.size()) ++at_;
      return word;
    }
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' ||
                                  text_[at_] == '-' || text_[at_] == '.'))
      word += text_[at_++];
    return word;
  }

  std::optional<std::string> Call(int depth) {
    if (depth > kDeepestLength) return std::nullopt;
    const std::string name = Word();
    if (name.empty()) return std::nullopt;
    if (!Take('(')) return name;
    std::vector<std::string> arguments;
    while (!Take(')')) {
      const std::optional<std::string> argument = Call(depth + 1);
      if (!argument) return std::nullopt;
      if (Take('=')) {
        Word();  // an assumption about a symbol
      } else {
        arguments.push_back(*argument);
      }
      if (!Take(',')) {
        if (!Take(')')) return std::nullopt;
        break;
      }
    }
    return Written(name, arguments);
  }

  static std::string Joined(const std::vector<std::string>& arguments, const char* between) {
    std::string text;
    for (const std::string& argument : arguments)
      text += (text.empty() ? "(" : between + std::string("(")) + argument + ")";
    return text;
  }

  static std::string Written(const std::string& name, const std::vector<std::string>& arguments) {
    const bool two = arguments.size() == 2;
    if ((name == "Symbol" || name == "Integer" || name == "Float") && !arguments.empty()) return arguments.front();
    if (name == "Add") return Joined(arguments, "+");
    if (name == "Mul") return Joined(arguments, "*");
    // torch/utils/_sympy/functions.py: divisions of integers that are floored, or that are exact.
    if ((name == "FloorDiv" || name == "CleanDiv") && two) return Joined(arguments, "//");
    if (name == "Rational" && two) return Joined(arguments, "/");
    if ((name == "Pow" || name == "PowByNatural") && two) return Joined(arguments, "**");
    if ((name == "Mod" || name == "PythonMod") && two) return Joined(arguments, "%");
    std::string text = name + "(";
    for (size_t i = 0; i < arguments.size(); ++i) text += (i == 0 ? "" : ", ") + arguments[i];
    return text + ")";
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string PlainLength(std::string_view text) {
  const bool is_srepr = text.find("Symbol(") != text.npos || text.find("Integer(") != text.npos;
  if (!is_srepr) return std::string(text);
  return SreprReader(text).Read().value_or("?");
}

}  // namespace vramplan
