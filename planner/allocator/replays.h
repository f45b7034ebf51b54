// Replays: replays of steps on cards of several sizes. What one of them tells answers questions about the same step, so
// that they need none of their own:
//
//   the step asks for 25 GiB at once              it does not fit into 23 GiB
//   a replay reserves 20 GiB, and the card has    the same segments fit into 22 GiB: with as much room, or more, the
//   room for each segment at once                 allocator does the same
//   the same question                             the same answer
//
// The first does not hold of other frameworks' arenas, whose optional blocks may stay out; the second neither of those,
// whose regions depend on the capacity, nor of expandable segments, whose addresses do, nor of a memory fraction.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "planner/allocator/replay.h"

namespace vramplan {

// For several threads, whose replays run at once.
class Replays {
 public:
  // A timeline that nobody holds any more is forgotten.
  using Step = std::shared_ptr<const Timeline>;

  // Whether Replay of it ends without a refusal.
  bool Fits(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity);
  // Replay; what it tells is kept.
  Peak Of(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity);
  // The same where it fits; else nothing, if need be without a replay.
  std::optional<Peak> Within(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity);

 private:
  struct Answer {
    Bytes capacity;
    bool fits = false;
  };
  // Of a step at a batch under a setting of the allocator.
  struct Known {
    std::weak_ptr<const Timeline> step;
    int64_t batch = 1;
    AllocatorConfig config;
    Bytes requested;              // at once; zero where that tells nothing
    std::optional<Bytes> enough;  // what a replay reserved that was refused nothing
    std::vector<Answer> answers;
  };
  // The caller holds the mutex as long as it uses what this returns.
  Known& About(const Step& step, int64_t batch, const AllocatorConfig& config);
  // Nothing: a replay has to tell.
  std::optional<bool> Answered(const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity);
  void Keep(const ReplayEnd& end, const Step& step, int64_t batch, const AllocatorConfig& config, Bytes capacity);

  std::mutex mutex_;
  std::vector<Known> known_;
};

}  // namespace vramplan
