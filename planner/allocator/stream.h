// Streams: replays a file of requests, one a line. It shows how a recorded run, or one that `trace` wrote, would lie in
// memory under another configuration or on another card, and checks row by row whether our allocator does what the
// recorded one did.
//
//   op,id,bytes,result,allocated,reserved,segments,address
//   alloc,0,14280858,14680064,14680064,14680064,1,0
//   free,0,,,0,14680064,1,
//   alloc,1,2525,2560,2560,16777216,2,16777216
//   empty_cache,,,,2560,2097152,1,
//
// The first three columns are required. The others are for checking: `result` is by how much the row raised
// `allocated`, or `oom`; then the counters after the row, and the address relative to the first block. Further columns
// are ignored, and so are the rows of a recorded script that ask for nothing: enter, leave, cudnn, reserved. The file
// may be gzipped.
//
// The columns of a trace (planner/allocator/trace.h) are accepted too: event, block, bytes, allocated_after. Then
// `bytes` is the size of the recorded block, and memory from before the step is laid out first: each `old` block that
// the stream frees, and one block for the rest.
//
// If the recorded `allocated` does not change at a `free`, another holder still had the block: it is freed after the
// next request, as happens when a Python variable is reassigned.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/result.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/replay.h"

namespace vramplan {

// The first recorded value that differs from ours.
struct StreamDifference {
  int64_t line = 0;
  std::string column;
  std::string recorded, ours;
  bool operator==(const StreamDifference&) const = default;
};

struct StreamPeak {
  int64_t rows = 0;
  int64_t allocations = 0, frees = 0, cache_releases = 0;
  int64_t out_of_memory = 0;  // refused requests; the stream goes on after them
  int64_t refused_line = 0;   // line of the first one
  int64_t retries = 0;
  Levels before;          // for a trace: the memory from before the step
  Levels peak;            // each level's own peak
  int64_t segments = 0;   // the most at one time
  int64_t peak_line = 0;  // first line at which allocated is highest; 0: nothing was allocated
  Levels end;
  int64_t checked = 0;                         // rows that were compared and equal
  std::optional<StreamDifference> difference;  // the stream stops there
  bool operator==(const StreamPeak&) const = default;
};

enum class StreamCheck { kOff, kOn };

// `name` is the subject of errors (kBadInput, "FILE:LINE"): a missing column, a value that is not a number, an id that
// is allocated twice or freed before it was allocated.
// With kOn, a file without recorded values is an error too.
Result<StreamPeak> ReplayStream(std::string_view text, const std::string& name, const AllocatorConfig& config,
                                Bytes capacity, StreamCheck check);

// The text of a file ("-": standard input), unpacked if it is gzipped. Errors: the system's own, a damaged gzip file,
// one that unpacks to more than the limit.
Result<std::string> ReadStream(const std::string& path, Bytes most_unpacked = Bytes::GiB(1));

}  // namespace vramplan
