#include "graph/base/check.h"

#include <cstdio>
#include <cstdlib>

namespace vramplan {

void FailCheck(const char* file, int line, std::string_view what) {
  std::fprintf(stderr, "%s:%d: internal error: %.*s\n", file, line, static_cast<int>(what.size()), what.data());
  std::fflush(nullptr);
  std::_Exit(70);
}

}  // namespace vramplan
