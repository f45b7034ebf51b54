// CodePlace: a line of somebody's code, and the function that it stands in.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace vramplan {

struct CodePlace {
  std::string file;
  int64_t line = 0;
  std::string function;
  auto operator<=>(const CodePlace&) const = default;
};

}  // namespace vramplan
