#include "pretend/recording/words.h"

#include <charconv>

namespace vramplan {

std::string_view Words::Raw() {
  const size_t tab = rest_.find('\t');
  const std::string_view word = rest_.substr(0, tab);
  over_ = tab == std::string_view::npos;
  rest_ = over_ ? std::string_view() : rest_.substr(tab + 1);
  return word;
}

std::string Words::Text() {
  const std::string_view word = Raw();
  std::string text;
  for (size_t i = 0; i < word.size(); ++i) {
    if (word[i] != '\\' || i + 1 == word.size()) {
      text += word[i];
      continue;
    }
    const char next = word[++i];
    text += next == 't' ? '\t' : next == 'n' ? '\n' : next;
  }
  return text;
}

int64_t Words::Number() {
  const std::string_view word = Raw();
  int64_t number = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), number);
  bad_ = bad_ || status != std::errc() || end != word.data() + word.size();
  return number;
}

double Words::Real() {
  const std::string_view word = Raw();
  double number = 0;
  const auto [end, status] = std::from_chars(word.data(), word.data() + word.size(), number);
  bad_ = bad_ || status != std::errc() || end != word.data() + word.size();
  return number;
}

}  // namespace vramplan
