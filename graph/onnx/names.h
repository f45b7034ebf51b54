// Names from a file, made fit for people, terminals and JSON, whatever bytes they hold.
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

// The same between quotes, cut when it is long: 'conv1'.
std::string QuotedName(std::string_view name);

// What an error would be about; the text is made only when there is one.
//
//   Part{"attribute", "value", "Constant_3"}.Text()   "attribute 'value' of node 'Constant_3'"
struct Part {
  std::string_view kind, name, node = {};
  std::string Text() const;
};

}  // namespace vramplan
