// CompareTraces: our stream of a step beside a recorded one.
//
//   ours       A+4 B+4 B-4     C+8 C-8        hunks: {1, 1, 2, 0} (B is only ours), {5, 3, 0, 1} (the last is only
//   recorded   A+4         C+8 C-8 A-4        theirs)
//
// Two events are the same when both are births or both deaths, in the same phase, of the same size. A tensor that
// another block was found for, with other slack, is still the same tensor: such pairs are counted apart, since one
// event too many moves the free blocks and with them the slack of everything after it. Streams are aligned by their
// longest common part, so that an event too many moves nothing else.
#pragma once

#include <string>
#include <vector>

#include "planner/allocator/trace.h"

namespace vramplan {

// A place where the streams differ: from `ours` on `ours_count` events have no counterpart, likewise theirs.
struct TraceHunk {
  size_t ours = 0, recorded = 0;
  size_t ours_count = 0, recorded_count = 0;
  bool operator==(const TraceHunk&) const = default;
};

// Events of one phase and operator that the other stream has not, whatever operator it would say they are of.
struct OperatorDifference {
  std::string phase;
  bool birth = true;
  std::string op;  // the autograd node in the backward; of a death: what had made the block; "old": made before
  struct Side {
    int64_t count = 0;
    Bytes bytes;
    Bytes largest;
    bool operator==(const Side&) const = default;
  } ours, recorded;
  bool operator==(const OperatorDifference&) const = default;
};

// Common bytes over those of the fuller stream, of blocks above kLargeBlock.
struct Agreement {
  Bytes common, ours, recorded;
  double Share() const;
  bool operator==(const Agreement&) const = default;
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
  // Deaths within the common part that take another block of the same size, and the first of them.
  // They change no level, but what lies free where, and so the slack of later blocks.
  int64_t swapped = 0;
  EventPair first_swapped;
  Agreement births, deaths;
  std::vector<OperatorDifference> differences;  // without the slack pairs; most bytes first
  TraceLevels ours, recorded;
};

TraceComparison CompareTraces(const Trace& ours, const Trace& recorded);

}  // namespace vramplan
