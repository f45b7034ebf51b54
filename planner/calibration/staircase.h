// The allocation staircase: what the driver rounds to, the largest block that it gives, and how much there is in
// pieces.
//
//   asked   1 B    512 KiB   1 MiB   2 MiB + 1   5 MiB + 1        granularity 2 MiB: what all steps have in common
//   taken   2 MiB    2 MiB   2 MiB       4 MiB       6 MiB
//
// Invariant: at least the margin stays free at all times, and everything is given back.
#pragma once

#include <vector>

#include "cuda_probe/probe.h"
#include "planner/calibration/profile.h"

namespace vramplan {

struct StairStep {
  Bytes asked, taken;
  bool operator==(const StairStep&) const = default;
};

struct Staircase {
  MeasuredMemory memory;
  Bytes free;  // before the first allocation
  std::vector<StairStep> steps;
  bool refused = false;  // the driver said no before the margin was reached: what is left is in pieces, or was taken
  Bytes drift;           // free bytes that others took between first and last look; negative: gave back
};

// What is left alone: others live on the card, too.
Bytes MarginOf(Bytes free);

Result<Staircase> ClimbStaircase(CardSession* session);

}  // namespace vramplan
