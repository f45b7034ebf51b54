// CHECK: a condition that only a bug of vramplan itself can break. Active in release too: a wrong number is worse than
// none.
//
// Headers write VRAMPLAN_CHECK: in the tests the short name is doctest's.
#pragma once

#include <string_view>

namespace vramplan {

// Prints "file:line: internal error: what" to stderr and ends the process with exit code 70.
[[noreturn]] void FailCheck(const char* file, int line, std::string_view what);

}  // namespace vramplan

#define VRAMPLAN_CHECK(condition)                                            \
  do {                                                                       \
    if (!(condition)) ::vramplan::FailCheck(__FILE__, __LINE__, #condition); \
  } while (false)

#ifndef CHECK
#define CHECK(condition) VRAMPLAN_CHECK(condition)
#endif
