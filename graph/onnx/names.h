// Names from a file in the sentences of errors.
#pragma once

#include <string>
#include <string_view>

#include "graph/base/printable.h"

namespace vramplan {

// A printable name between quotes, cut when it is long: 'conv1'.
std::string QuotedName(std::string_view name);

// What an error would be about; the text is made only when there is one.
//
//   Part{"attribute", "value", "Constant_3"}.Text()   "attribute 'value' of node 'Constant_3'"
struct Part {
  std::string_view kind, name, node = {};
  std::string Text() const;
};

}  // namespace vramplan
