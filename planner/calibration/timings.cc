#include "planner/calibration/timings.h"

#include <array>
#include <optional>

#include "planner/calibration/staircase.h"

namespace vramplan {
namespace {

// Beyond the second-level caches of all cards (the largest: 126 MB of a B200), so that memory is what is timed.
constexpr Bytes kLargestCopy = Bytes::MiB(512);
constexpr Bytes kSmallestCopy = Bytes::MiB(16);
constexpr std::array kShares = {8, 4, 2, 1};  // one in so many of the largest
constexpr int kRepeats = 5;

constexpr double kFirstFlop = 1e8, kMostFlop = 1e15, kGrowth = 4;
constexpr double kLongEnough = 2e-2;  // seconds: thousands of launches, and products that fill a card at an eighth

// Two blocks of the largest size that both have room. Nothing: neither of the smallest.
struct Pair {
  uint64_t to = 0, from = 0;
  Bytes bytes;
};
Result<std::optional<Pair>> TakePair(CardSession* session) {
  const Result<CardSession::Memory> memory = session->Free();
  if (!memory.ok()) return memory.error();
  const Bytes room = memory->free - MarginOf(memory->free);
  for (Bytes bytes = kLargestCopy; bytes >= kSmallestCopy; bytes = Bytes::Of(bytes.count() / 2)) {
    if (bytes * 2 > room) continue;
    const Result<std::optional<uint64_t>> to = session->Allocate(bytes);
    if (!to.ok()) return to.error();
    if (!*to) continue;
    const Result<std::optional<uint64_t>> from = session->Allocate(bytes);
    if (!from.ok()) return from.error();
    if (*from) return std::optional(Pair{**to, **from, bytes});
    if (const Status released = session->Release(**to); !released.ok()) return released.error();
  }
  return std::optional<Pair>();
}

}  // namespace

Result<std::vector<TimedWork>> TimeCopies(CardSession* session) {
  std::vector<TimedWork> samples;
  const Result<std::optional<Pair>> pair = TakePair(session);
  if (!pair.ok()) return pair.error();
  if (!*pair) return samples;
  // The first touches the pages and wakes the card's clocks.
  Result<TimedWork> copied = session->Copy((*pair)->to, (*pair)->from, (*pair)->bytes);
  for (const int share : kShares) {
    for (int i = 0; i < kRepeats && copied.ok(); ++i) {
      copied = session->Copy((*pair)->to, (*pair)->from, Bytes::Of((*pair)->bytes.count() / share));
      if (copied.ok()) samples.push_back(*copied);
    }
  }
  if (!copied.ok()) return copied.error();
  for (const uint64_t block : {(*pair)->to, (*pair)->from}) {
    if (const Status released = session->Release(block); !released.ok()) return released.error();
  }
  return samples;
}

Result<std::vector<TimedWork>> TimeArithmetic(CardSession* session, Arithmetic arithmetic) {
  std::vector<TimedWork> samples;
  double flop = kFirstFlop;
  for (;;) {
    const Result<std::optional<TimedWork>> tried = session->Compute(arithmetic, flop);
    if (!tried.ok()) return tried.error();
    if (!*tried) return samples;
    if ((*tried)->seconds >= kLongEnough || flop >= kMostFlop) break;
    flop *= kGrowth;
  }
  for (const int share : kShares) {
    for (int i = 0; i < kRepeats; ++i) {
      const Result<std::optional<TimedWork>> timed = session->Compute(arithmetic, flop / share);
      if (!timed.ok()) return timed.error();
      if (*timed) samples.push_back(**timed);
    }
  }
  return samples;
}

}  // namespace vramplan
