#include "graph/onnx/names.h"

namespace vramplan {

std::string QuotedName(std::string_view name) {
  constexpr size_t kMaxShown = 120;
  return "'" + Printable(name.substr(0, kMaxShown)) + (name.size() > kMaxShown ? "...'" : "'");
}

std::string Part::Text() const {
  std::string text = std::string(kind) + " " + QuotedName(name);
  if (!node.empty()) text += " of node " + QuotedName(node);
  return text;
}

}  // namespace vramplan
