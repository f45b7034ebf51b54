// Text from files, made fit for people, terminals, comments and JSON, whatever bytes it holds.
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

// The name itself when it is printable UTF-8; otherwise with the other bytes, and backslashes, written as \x1b.
// Different names stay different.
//
//   Printable("conv1")      "conv1"
//   Printable("a\x1b[2J")   "a\x1b[2J", in visible characters
std::string Printable(std::string_view name);

// The same for a sentence that names stand in already: backslashes stay, so that no name is escaped twice. The text
// never holds a line break.
std::string OneLine(std::string_view text);

}  // namespace vramplan
