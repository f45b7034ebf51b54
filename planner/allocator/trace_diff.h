// CompareTraces: our stream of a step beside a recorded one.
//
//   ours       A+4 B+4 B-4 C+8 C-8            hunks: {1, 1, 2, 0} (B is only ours), {5, 3, 0, 1} (the last is only
//   recorded   A+4         C+8 C-8 A-4        theirs)
//
// Two events are the same if both allocate or both free a block of the same size in the same phase. One extra event
// moves the free blocks, and with them the slack of later blocks; so a pair that differs only in slack is still the
// same tensor, and is counted separately. Streams are aligned by their longest common part, so that one extra event
// shifts nothing else.
#pragma once

#include <string>
#include <vector>

#include "planner/allocator/trace.h"

namespace vramplan {

// A place where the streams differ: `ours_count` events from `ours` on have no counterpart; the same for `recorded`.
struct TraceHunk {
  size_t ours = 0, recorded = 0;
  size_t ours_count = 0, recorded_count = 0;
  bool operator==(const TraceHunk&) const = default;
};

// Events of one phase and operator that the other stream lacks under any operator.
struct OperatorDifference {
  std::string phase;
  bool birth = true;
  std::string op;  // in the backward the autograd node; for a free, what had allocated the block ("old": earlier)
  struct Side {
    int64_t count = 0;
    Bytes bytes;
    Bytes largest;
    bool operator==(const Side&) const = default;
  } ours, recorded;
  bool operator==(const OperatorDifference&) const = default;
};

// Common bytes as a share of the stream with more bytes; only blocks above kLargeBlock count.
struct TraceAgreement {
  Bytes common, ours, recorded;
  double Share() const;
  bool operator==(const TraceAgreement&) const = default;
};
inline constexpr Bytes kLargeBlock = Bytes::KiB(64);

struct TraceLevels {
  bool known = false;
  Bytes before, peak, after;  // allocated
  size_t peak_event = 0;
};

// An event of ours and its counterpart.
struct EventPair {
  size_t ours = 0, recorded = 0;
  bool operator==(const EventPair&) const = default;
};

struct TraceComparison {
  bool equal() const { return hunks.empty() && slack.empty(); }
  std::vector<TraceHunk> hunks;  // none: the same tensors in the same order
  std::vector<EventPair> slack;  // the same tensor in blocks of different size
  // Frees within the common part that free another block of the same size, and the first of them. They change no level,
  // but they change which addresses are free, and so the slack of later blocks.
  int64_t swapped = 0;
  EventPair first_swapped;
  TraceAgreement births, deaths;
  std::vector<OperatorDifference> differences;  // without the slack pairs; most bytes first
  TraceLevels ours, recorded;
};

TraceComparison CompareTraces(const Trace& ours, const Trace& recorded);

}  // namespace vramplan
