#include "planner/calibration/staircase.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace vramplan {
namespace {

constexpr Bytes kLeastMargin = Bytes::MiB(256);
constexpr int64_t kMarginShare = 32;  // of the free bytes
constexpr Bytes kUsual =
    Bytes::MiB(2);  // granularity where no step shows one: cuMemCreate's on every card since Pascal
constexpr std::array kAsked = {Bytes::Of(1),  Bytes::KiB(512),
                               Bytes::MiB(1), Bytes::MiB(2) + Bytes::Of(1),
                               Bytes::MiB(3), Bytes::MiB(5) + Bytes::Of(1)};
constexpr int64_t kPieces = 64;

Bytes RoundedDown(Bytes bytes, Bytes unit) { return unit * (bytes.count() / unit.count()); }

// One climb over one session.
class Climb {
 public:
  Climb(CardSession* session, Staircase* stairs) : session_(session), stairs_(stairs) {}

  Status Run() {
    Result<Bytes> free = Free();
    if (!free.ok()) return free.error();
    stairs_->free = *free;
    stairs_->memory.margin = MarginOf(*free);
    if (const Status done = Steps(); !done.ok()) return done;
    if (const Status done = Largest(); !done.ok()) return done;
    if (const Status done = Pieces(); !done.ok()) return done;
    free = Free();
    if (!free.ok()) return free.error();
    stairs_->drift = stairs_->free - *free;
    return Done();
  }

 private:
  Result<Bytes> Free() {
    const Result<CardSession::Memory> memory = session_->Free();
    if (!memory.ok()) return memory.error();
    return memory->free;
  }
  // Nothing: no, or it would go into the margin.
  Result<std::optional<uint64_t>> Take(Bytes bytes, Bytes* free) {
    const Result<Bytes> now = Free();
    if (!now.ok()) return now.error();
    *free = *now;
    if (bytes > *now - stairs_->memory.margin) return std::optional<uint64_t>();
    return session_->Allocate(bytes);
  }

  Status Steps() {
    int64_t common = 0;
    for (const Bytes asked : kAsked) {
      Bytes before;
      const Result<std::optional<uint64_t>> block = Take(asked, &before);
      if (!block.ok()) return block.error();
      if (!*block) break;
      const Result<Bytes> after = Free();
      if (!after.ok()) return after.error();
      if (const Status released = session_->Release(**block); !released.ok()) return released;
      if (before <= *after) continue;  // out of what the driver had in hand
      stairs_->steps.push_back({asked, before - *after});
      common = std::gcd(common, (before - *after).count());
    }
    stairs_->memory.granularity = common > 0 ? Bytes::Of(common) : kUsual;
    return Done();
  }

  // By bisection, in units of the granularity.
  Status Largest() {
    const Bytes unit = stairs_->memory.granularity;
    const Bytes room = std::max(Bytes(), stairs_->free - stairs_->memory.margin);
    int64_t gives = 0, next = room.count() / unit.count(), refuses = next + 1;
    while (gives < next) {
      Bytes free;
      const Result<std::optional<uint64_t>> block = Take(unit * next, &free);
      if (!block.ok()) return block.error();
      if (*block) {
        if (const Status released = session_->Release(**block); !released.ok()) return released;
        gives = next;
      } else {
        refuses = next;
      }
      next = gives + (refuses - gives) / 2;
    }
    stairs_->memory.largest = unit * gives;
    return Done();
  }

  // Pieces that get smaller when one is refused, until the margin is reached or the smallest is refused.
  Status Pieces() {
    const Bytes unit = stairs_->memory.granularity;
    Bytes piece = std::max(unit, RoundedDown(Bytes::Of(stairs_->free.count() / kPieces), unit));
    Bytes taken, free;
    std::vector<uint64_t> blocks;
    for (bool more = true; more;) {
      const Result<std::optional<uint64_t>> block = Take(piece, &free);
      if (!block.ok()) return block.error();
      if (*block) {
        blocks.push_back(**block);
        taken += piece;
      } else if (piece > unit) {
        piece = std::max(unit, RoundedDown(Bytes::Of(piece.count() / 2), unit));
      } else {
        more = false;
      }
    }
    stairs_->refused = unit <= free - stairs_->memory.margin;
    stairs_->memory.reachable = stairs_->refused ? taken : taken + free;
    for (const uint64_t block : blocks) {
      if (const Status released = session_->Release(block); !released.ok()) return released;
    }
    return Done();
  }

  CardSession* session_;
  Staircase* stairs_;
};

}  // namespace

Bytes MarginOf(Bytes free) { return std::max(kLeastMargin, Bytes::Of(free.count() / kMarginShare)); }

Result<Staircase> ClimbStaircase(CardSession* session) {
  Staircase stairs;
  const Status climbed = Climb(session, &stairs).Run();
  if (!climbed.ok()) return climbed.error();
  return stairs;
}

}  // namespace vramplan
