// Any bytes as a stream of requests and as a trace: an error or a result, never a crash; what is read as a trace can be
// written and read again, and equals itself.
#include <cstdint>
#include <string_view>

#include "graph/base/check.h"
#include "planner/allocator/stream.h"
#include "planner/allocator/trace_diff.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  for (const StreamCheck check : {StreamCheck::kOff, StreamCheck::kOn})
    (void)ReplayStream(text, "fuzz", AllocatorConfig(), Bytes::MiB(64), check).ok();
  const auto trace = ParseTrace(text, "fuzz");
  if (!trace.ok()) return 0;
  const auto again = ParseTrace(PrintTrace(*trace), "fuzz");
  CHECK(again.ok());
  CHECK(CompareTraces(*trace, *again).equal());
  return 0;
}
