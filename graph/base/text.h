// Text: what rooms ask of names and paths.
//
//   PartsOf("layer.0.conv")                {"layer", "0", "conv"}
//   WithoutDigits("/layer.12/Add_3")       "/layer./Add_"
//   Ranked("conv", 2)                     "conv2d"
//   IsOneOf("relu", {"relu", "silu"})      true
//   Contains(paths, "layer.0")             whether it is among them
#pragma once

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace vramplan {

inline bool IsOneOf(std::string_view text, std::initializer_list<std::string_view> texts) {
  return std::find(texts.begin(), texts.end(), text) != texts.end();
}

// Whether one of a list is this.
template <typename List, typename One>
bool Contains(const List& list, const One& one) {
  return std::ranges::find(list, one) != std::ranges::end(list);
}

// What stands between the separators, blanks around it left out: "a, b" by commas is a and b. They point into `list`.
std::vector<std::string_view> TextsIn(std::string_view list, char separator);

// The parts of a path between its dots; of an empty path one empty part. They point into `path`.
std::vector<std::string_view> PartsOf(std::string_view path);

// "layer.0" of "layer.0.conv"; of one part nothing. And "conv".
inline std::string ParentOf(std::string_view path) {
  return std::string(path.substr(0, path.rfind('.') == path.npos ? 0 : path.rfind('.')));
}
inline std::string_view LeafOf(std::string_view path) { return path.substr(path.rfind('.') + 1); }

std::string WithoutDigits(std::string text);
std::string LowerCase(std::string_view text);  // of ASCII
// Digits, at least one: what modules of a list are called.
inline bool IsNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// An operator over that many axes: "conv2d".
inline std::string Ranked(std::string_view op, int64_t axes) { return std::string(op) + std::to_string(axes) + "d"; }

}  // namespace vramplan
