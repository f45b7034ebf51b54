// Any bytes as the file of `vramplan solve`: a problem or an error of one line; what is read can be written and read
// again, and is the same.
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "planner/remat/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  const auto problem = ReadProblem({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!problem.ok()) {
    CHECK(ToString(problem.error()).find('\n') == std::string::npos);
    return 0;
  }
  const std::string text = WriteProblem(*problem);
  const auto again = ReadProblem(text, "again");
  CHECK(again.ok());
  CHECK(WriteProblem(*again) == text);
  return 0;
}
