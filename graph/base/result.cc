#include "graph/base/result.h"

namespace vramplan {

std::string ToString(const Error& error) {
  std::string line = error.subject.empty() ? error.text : error.subject + ": " + error.text;
  if (!error.hint.empty()) line += " (hint: " + error.hint + ")";
  return line;
}

}  // namespace vramplan
