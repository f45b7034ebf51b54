// FindLargestValue: the largest number with which a script runs on a card. Every try is a whole run, so it takes few: a
// law is made of the runs that fitted, and the end is proved by a run that fits and one of the next number that fails.
//
//   requested, by phase |                    /  backward: affine in the batch, steep
//   capacity            |-------------------x-
//                       |________________ /___  update: affine, flat (weights, gradients, states)
//                       |             /
//                       +--o--o------------------- batch: two small runs give both lines; 37 is where the card is full
//
// Requested bytes are less than what the allocator takes of the card, so the law's end is the most that may run; with
// the share of requested in reserved of the largest run so far it is the least. The first try is in between. A run that
// fails says how much of the card lay free in pieces that nothing fitted into; with so much beside each unit the law is
// believed from then on: its end should run, and the next number fail. Where that is wrong (a kernel that needs
// scratch) a few steps that widen find the other side, and the interval is halved: 14 runs at most of 512 numbers.
//
// Assumed: what fails with one number fails with larger ones. All that was tried is told.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/phase.h"
#include "graph/base/result.h"

namespace vramplan {

struct TriedValue {
  int64_t value = 0;
  bool fits = false;
  Bytes requested, allocated, reserved;  // peaks; of one that failed: what was held then
  std::array<Bytes, kPhases> phases;     // the peaks of requested by phase
  Bytes stuck;                           // of one that failed: held of the card, and free in pieces
  bool operator==(const TriedValue&) const = default;
};

struct LargestValue {
  std::optional<int64_t> largest;        // nothing: not even the lowest runs
  std::optional<int64_t> first_failing;  // nothing: the highest runs
  std::vector<TriedValue> tried;         // in order
};

using RunsValue = std::function<Result<TriedValue>(int64_t value)>;

// Of low .. high. `capacity`: what the allocator may take. Errors: those of `run`.
Result<LargestValue> FindLargestValue(int64_t low, int64_t high, Bytes capacity, const RunsValue& run);

}  // namespace vramplan
