// A step on a card: the events of a timeline, allocation by allocation, through the caching allocator with its segments
// on the card. Every byte of every block is written when a tensor gets it; the card's free memory is watched from
// inside (cuMemGetInfo) and from outside (NVML) at the moments that matter.
//
//   predicted  requested 98 MiB  allocated 99 MiB  reserved 120 MiB
//   observed             98                99               120, free memory fell by 120
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "cuda_probe/probe.h"
#include "planner/allocator/replay.h"
#include "planner/calibration/card_memory.h"
#include "planner/solver/bottleneck.h"

namespace vramplan {

// A look at the card.
struct CardMoment {
  enum class Kind : uint8_t { kStart, kSetup, kSegment, kPeak, kEnd };
  Kind kind = Kind::kSegment;
  size_t event = 0;
  Bytes reserved;             // segments of ours
  Bytes free;                 // from inside
  std::optional<Bytes> used;  // from outside, by everybody; nothing: the driver does not say
  Bytes others;               // took so much by then
  bool operator==(const CardMoment&) const = default;
};
std::string_view Name(CardMoment::Kind kind);  // "start", "after the setup", "new segment", "peak", "end"

struct CardTry {
  enum class End : uint8_t { kRan, kFull, kDisturbed, kFailed };
  int64_t batch = 1;
  End end = End::kRan;
  Peak peak;  // as the allocator counted on the card
  std::vector<CardMoment> moments;
  std::array<TimedWork, kPhases> written{};  // by Phase
  int64_t blocks = 0, segments = 0;          // blocks: that were written
  Bytes others, driver;                      // as CardMemory counts them
  std::optional<Refusal> refusal;            // kFull, kDisturbed; nothing: the allocator's own limit (memory fraction)
  std::optional<Error> error;                // kFailed
  std::optional<Bottleneck> at;              // what did not get its memory
  Bytes left;                                // free memory that did not come back; zero unless something is wrong

  // Of what was highest: bytes that free memory fell by, others' share taken out.
  Bytes FellInside() const;
  // The same from outside, where the driver says.
  std::optional<Bytes> RoseOutside() const;
};

// `predicted`: of the same timeline; its moment is looked at. All memory is given back when it returns.
CardTry TryOnCard(Probe* machine, int card, CardSession* session, const Timeline& timeline, const Layers& layers,
                  int64_t batch, const AllocatorConfig& config, const CardLimits& limits, const Peak& predicted);

}  // namespace vramplan
