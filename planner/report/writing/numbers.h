// Numbers as reports write them.
//
//   Formatted("%.1f %%", 12.34)   "12.3 %"
//   NumberText(0.1)               "0.1"
//   OrNotSaid(std::nullopt)       "not said"
//   Counted(16, "module")         "16 modules"
//   SignedText(Bytes::MiB(-3))    "-3.00 MiB"
#pragma once

#include <optional>
#include <string>

#include "graph/base/bytes.h"

namespace vramplan {

// `format`: of printf, with one conversion of a double. At most 63 characters.
std::string Formatted(const char* format, double number);
std::string NumberText(double number);  // nine digits at most, as code and configuration files read them
std::string OrNotSaid(const std::optional<Bytes>& bytes);
// `one`: the noun, which takes an s.
std::string Counted(int64_t count, const std::string& one);
// `plus`: before what is above zero.
std::string SignedText(Bytes bytes, bool plus = false);
std::string PartText(Bytes part, Bytes whole);  // "12.3 %"; of nothing ""

}  // namespace vramplan
