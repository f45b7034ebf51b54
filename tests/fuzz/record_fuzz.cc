// Any bytes as the record of a script's run: an error or a record, never a crash; what is read can be written and read
// again and is the same, and every change of it can be replayed.
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/base/check.h"
#include "planner/record/changes.h"
#include "planner/record/played.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace vramplan;
  const Result<Record> record = ReadRecord(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz");
  if (!record.ok()) return 0;
  const std::string printed = PrintRecord(*record);
  const Result<Record> again = ReadRecord(printed, "fuzz");
  CHECK(again.ok());
  CHECK(PrintRecord(*again) == printed);
  for (const Record& changed : {*record, WithSmallStates(*record), WithCheckpoints(*record, ModuleListsOf(*record))}) {
    const Peak peak = Replay(Played(changed).timeline, 1, AllocatorConfig(), Bytes::Max());
    CHECK(peak.peak.requested <= peak.peak.reserved);
  }
  (void)TraceOf(*record, "fuzz", 1, AllocatorConfig()).ok();
  return 0;
}
