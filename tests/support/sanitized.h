// EveryNth: how many rows of a table a test looks at. For the tests that know which build they are in (tests/CMakeLists.txt).
//
//   EveryNth(8)   8 under the sanitizers, which make an answer ten times slower and look at memory, not at numbers; else 1
#pragma once

#include <cstddef>

namespace vramplan::testing {

constexpr size_t EveryNth([[maybe_unused]] size_t under_sanitizers) {
#ifdef __SANITIZE_ADDRESS__
  return under_sanitizers;
#else
  return 1;
#endif
}

}  // namespace vramplan::testing
