#include "graph/base/text.h"

namespace vramplan {

std::vector<std::string_view> TextsIn(std::string_view list, char separator) {
  std::vector<std::string_view> texts;
  while (!list.empty()) {
    const size_t end = std::min(list.find(separator), list.size());
    std::string_view text = list.substr(0, end);
    while (text.starts_with(' ')) text.remove_prefix(1);
    while (text.ends_with(' ')) text.remove_suffix(1);
    if (!text.empty()) texts.push_back(text);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return texts;
}

std::vector<std::string_view> PartsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0;;) {
    const size_t dot = path.find('.', begin);
    parts.push_back(path.substr(begin, dot == std::string_view::npos ? dot : dot - begin));
    if (dot == std::string_view::npos) return parts;
    begin = dot + 1;
  }
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return lower;
}

std::string WithoutDigits(std::string text) {
  std::erase_if(text, [](char c) { return c >= '0' && c <= '9'; });
  return text;
}

}  // namespace vramplan
