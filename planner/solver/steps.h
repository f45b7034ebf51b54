// Steps: a step at any batch, each batch laid out once. A search asks for few batches, and the next one (another
// setting of the allocator, the high end of workspaces, a smaller card) asks for the same ones again.
//
//   Steps steps(layout);
//   steps.At(38)   lays out       steps.At(39)   lays out       steps.At(38)   is the first one
//
// So do replays of them (planner/allocator/replays.h).
//
// Invariant: what is kept has at most that many events together, or is the last step that was asked for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "graph/base/result.h"
#include "planner/allocator/replays.h"
#include "planner/timeline/timeline.h"

namespace vramplan {

// Lays the step out at a batch (Schedule, with everything else fixed).
using Layout = std::function<Result<Timeline>(int64_t batch)>;

using LaidOut = std::shared_ptr<const Timeline>;

class Steps {
 public:
  // Events that are kept: 16 steps of 20,000 nodes, some 400 MiB of RAM.
  static constexpr size_t kMostKept = size_t{4} << 20;
  explicit Steps(Layout layout, size_t most_kept = kMostKept) : layout_(std::move(layout)), most_kept_(most_kept) {}
  // Whose replays tell of those of `other`, too.
  Steps(Layout layout, const Steps& other) : Steps(std::move(layout)) { replays_ = other.replays_; }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;

  // Errors: those of the layout.
  Result<LaidOut> At(int64_t batch);
  // A step that somebody has laid out, at timeline.batch.
  LaidOut Keep(Timeline timeline);
  Replays& replays() const { return *replays_; }

 private:
  Layout layout_;
  size_t most_kept_;
  std::deque<LaidOut> kept_;  // the newest first
  size_t events_ = 0;         // of all that is kept
  std::shared_ptr<Replays> replays_ = std::make_shared<Replays>();
};

}  // namespace vramplan
