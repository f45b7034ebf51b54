// Breakdown: where the bytes of a peak go: rows that sum to what the card has to give.
//
//   parameters 97.5 + ... + workspace 8.1 + slack 1.2      = allocated  301.0 MiB
//   + reserved, not allocated 21.0                         = reserved   322.0 MiB
//   + CUDA context and kernels 350.0                       = device     672.0 MiB
#pragma once

#include <string>
#include <vector>

#include "planner/allocator/replay.h"
#include "planner/report/writing/json.h"
#include "planner/report/writing/style.h"

namespace vramplan {

struct BreakdownRow {
  std::string name;
  Bytes bytes;
  bool operator==(const BreakdownRow&) const = default;
};

// Eleven rows: the categories, slack, the rest of reserved, the context. CHECKs that they sum to DeviceBytes(peak,
// context).
std::vector<BreakdownRow> Breakdown(const Peak& peak, Bytes context);

// What nvidia-smi would show at the peak.
Bytes DeviceBytes(const Peak& peak, Bytes context);

// {"parameters": ..., "slack": ...}; they sum to peak.allocated.
// One column of bytes a peak, the first with shares and bars; the last row is the sum. Unless the style is verbose,
// rows below a twentieth of the sum in every column are one row, "the rest"; and more of them where the table would have
// more lines than there is room for, but never fewer than three rows.
struct BreakdownColumn {
  std::string header;  // "batch 32"
  const Peak* peak;
};
std::string PrintBreakdown(const std::vector<BreakdownColumn>& columns, Bytes context, const Style& style,
                           int room = kAnyRoom);

}  // namespace vramplan
