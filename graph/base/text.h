// Text: what rooms ask of names and paths.
//
//   PartsOf("layer.0.conv")                {"layer", "0", "conv"}
//   WithoutDigits("/layer.12/Add_3")       "/layer./Add_"
//   Ranked("conv", 2)                     "conv2d"
//   IsOneOf("relu", {"relu", "silu"})      true
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

// The parts of a path between its dots; of an empty path one empty part. They point into `path`.
std::vector<std::string_view> PartsOf(std::string_view path);

std::string WithoutDigits(std::string text);

// An operator over that many axes: "conv2d".
inline std::string Ranked(std::string_view op, int64_t axes) { return std::string(op) + std::to_string(axes) + "d"; }

}  // namespace vramplan
