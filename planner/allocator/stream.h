// Streams: a file of requests, one a line, fed to the allocator: how a recorded run, or a run as `trace` writes it,
// lies in memory, under another configuration or on another card; and, row by row, whether our allocator does what the
// recorded one did.
//
//   op,id,bytes,result,allocated,reserved,segments,address
//   alloc,0,14280858,14680064,14680064,14680064,1,0
//   free,0,,,0,14680064,1,
//   alloc,1,2525,2560,2560,16777216,2,16777216
//   empty_cache,,,,2560,2097152,1,
//
// The first three columns are needed, the others (what the recorded allocator did: growth of `allocated` over the row,
// or `oom`; the counters after it; the address relative to the first block's) are for checking; more columns are passed
// over. May be gzipped.
//
// The columns of a trace (planner/allocator/trace.h) are taken too: event, block, bytes, allocated_after. Then `bytes`
// is what the recorded allocator gave, and what was there before the step is laid out first: each `old` block that the
// stream frees, and one block for the rest of what was allocated.
//
// A `free` after which the recorded `allocated` stands unchanged left the block with another holder: it is freed when
// the next request has been answered, as happens to a Python name that is bound again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/result.h"
#include "planner/allocator/caching_allocator.h"
#include "planner/allocator/replay.h"

namespace vramplan {

// The first recorded value that ours differs from.
struct StreamDifference {
  int64_t line = 0;
  std::string column;
  std::string recorded, ours;
  bool operator==(const StreamDifference&) const = default;
};

struct StreamPeak {
  int64_t rows = 0;
  int64_t allocations = 0, frees = 0, cache_releases = 0;
  int64_t out_of_memory = 0;  // requests that got nothing; the stream goes on after them
  int64_t refused_line = 0;   // the first of them
  int64_t retries = 0;
  Levels before;          // of a trace: what was laid out first
  Levels peak;            // each level on its own
  int64_t segments = 0;   // at most at one time
  int64_t peak_line = 0;  // where allocated is highest, first time; 0: nothing was allocated
  Levels end;
  int64_t checked = 0;                         // rows that were compared and equal
  std::optional<StreamDifference> difference;  // the stream stops there
  bool operator==(const StreamPeak&) const = default;
};

enum class StreamCheck { kOff, kOn };

// `name` is the subject of errors (kBadInput, "FILE:LINE"): a column that is missing, a value that is no number, an id
// that is given twice or freed without having been given. With kOn, errors too when there is nothing recorded to
// compare with.
Result<StreamPeak> ReplayStream(std::string_view text, const std::string& name, const AllocatorConfig& config,
                                Bytes capacity, StreamCheck check);

// The text of a file ("-": of standard input), unpacked when it is gzipped. Errors: what the system says, a damaged
// gzip file, one that unpacks to more than this.
Result<std::string> ReadStream(const std::string& path, Bytes most_unpacked = Bytes::GiB(1));

}  // namespace vramplan
