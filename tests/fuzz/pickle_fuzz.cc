// Any bytes as a snapshot of PyTorch's memory: a trace or an error of one line.

#include <cstdint>
#include <string>

#include "graph/base/check.h"
#include "planner/snapshot/recorded_step.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const Result<Pickle> read = ReadPickle(bytes, "fuzz");
  if (!read.ok()) {
    CHECK(ToString(read.error()).find('\n') == std::string::npos);
    return 0;
  }
  const Result<RecordedSteps> steps = StepOfSnapshot(*read, "fuzz", {});
  if (!steps.ok()) CHECK(ToString(steps.error()).find('\n') == std::string::npos);
  return 0;
}
