#include "planner/solver/batch_search.h"

#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

// Doubling takes at most 20 replays, halving 20 more, and both may be done again without guesses and from the batch
// that was asked for; a search that comes here is a bug.
constexpr int kMostReplays = 128;
constexpr int64_t kNone = -1;
// A step whose ideal batch is this has no trouble with batch 1.
constexpr int64_t kFew = 4;

class Search {
 public:
  // `alone`: the batch, without peak and bottleneck.
  Search(Steps& steps, const Layers& layers, const AllocatorConfig& config, Bytes capacity, bool alone)
      : steps_(steps), layers_(layers), config_(config), capacity_(capacity), alone_(alone) {}

  Result<LargestBatch> Run(int64_t asked, int64_t near) {
    if (const Status done = Bracket(asked, near); !done.ok()) return done.error();
    CHECK(fails_ == kNone ? fits_ == kLargestBatchTried : fails_ == fits_ + 1);
    found_.largest_batch = fits_;
    if (fails_ != kNone) found_.first_failing_batch = fails_;
    return std::move(found_);
  }

 private:
  // Lays out and replays a batch of at least fits_ and at most fails_, and makes it one of the two.
  Status Try(int64_t batch) {
    const Result<LaidOut> step = steps_.At(batch);
    if (!step.ok()) return step.error();
    CHECK(++found_.replays <= kMostReplays);
    if (alone_) {
      if (steps_.replays().Fits(*step, batch, config_, capacity_)) {
        fits_ = proved_to_fit_ = batch;
      } else {
        fails_ = proved_to_fail_ = batch;
      }
      return Done();
    }
    Peak peak = steps_.replays().Of(*step, batch, config_, capacity_);
    if (peak.out_of_memory) {
      fails_ = proved_to_fail_ = batch;
      found_.bottleneck = DescribeAllocation(**step, layers_, batch, *peak.out_of_memory);
    } else {
      fits_ = proved_to_fit_ = batch;
      found_.peak = std::move(peak);
    }
    return Done();
  }

  // As Try, but far from the ideal batch the answer is taken as known, and near it the step laid out at that batch
  // stands for those of the batches around it, while `trust_` allows.
  Status Decide(int64_t batch) {
    if (trust_ == Trust::kNothing) return Try(batch);
    bool fits = batch < ideal_;
    if (batch >= ideal_ - ideal_ / 3 && batch <= ideal_ + ideal_ / 16) {
      if (trust_ == Trust::kIdeal || batch == near_->batch) return Try(batch);
      fits = steps_.replays().Fits(near_, batch, config_, capacity_);
    }
    (fits ? fits_ : fails_) = batch;
    return Done();
  }

  // Doubling from fits_ until a batch fails, then halving what is between: the batches that a search on a card tries.
  Status Bisect() {
    while (fails_ == kNone && fits_ < kLargestBatchTried) {
      if (Status decided = Decide(std::min(2 * fits_, kLargestBatchTried)); !decided.ok()) return decided;
    }
    while (fails_ != kNone && fits_ + 1 != fails_) {
      if (Status decided = Decide(fits_ + (fails_ - fits_) / 2); !decided.ok()) return decided;
    }
    return Done();
  }

  // What was taken as known is replayed; false: it was wrong.
  Result<bool> Prove() {
    const int64_t fits = fits_, fails = fails_;
    if (proved_to_fit_ != fits) {
      if (const Status tried = Try(fits); !tried.ok()) return tried.error();
      if (proved_to_fit_ != fits) return false;
    }
    if (fails != kNone && proved_to_fail_ != fails) {
      if (const Status tried = Try(fails); !tried.ok()) return tried.error();
      if (proved_to_fail_ != fails) return false;
    }
    return true;
  }

  // The coefficients are those of a layout near the answer, then those of the batch so found.
  Status FindIdeal(int64_t near) {
    int64_t batch = std::max(kFirstBatchLaidOut, near);
    for (int round = 0; round < 2; ++round) {
      Result<LaidOut> step = steps_.At(batch);
      if (!step.ok()) return step.error();
      near_ = *std::move(step);
      ideal_ = std::max<int64_t>(2, IdealBatch(*near_, capacity_, kLargestBatchTried));
      if (ideal_ <= batch + batch / 4 && ideal_ >= batch - batch / 4) break;
      batch = ideal_;
    }
    return Done();
  }

  Status Bracket(int64_t asked, int64_t near) {
    if (Status found = FindIdeal(near); !found.ok()) return found;
    for (trust_ = Trust::kLayout;; trust_ = trust_ == Trust::kLayout ? Trust::kIdeal : Trust::kNothing) {
      fails_ = kNone;
      fits_ = 1;
      if (ideal_ < kFew || trust_ == Trust::kNothing) {
        if (Status tried = Try(1); !tried.ok()) return tried;
        if (fails_ == 1) {
          fits_ = 0;
          break;
        }
      }
      if (Status done = Bisect(); !done.ok()) return done;
      const Result<bool> proved = Prove();
      if (!proved.ok()) return proved.error();
      if (*proved) break;
      CHECK(trust_ != Trust::kNothing);
    }
    trust_ = Trust::kNothing;
    if (fits_ == 0) return Done();
    if (asked <= fits_) return Done();
    // What was asked for may be one of the batches that fit although a smaller one fails.
    const int64_t fits = fits_, fails = fails_;
    const LargestBatch found = found_;
    fails_ = kNone;
    if (Status tried = Try(asked); !tried.ok()) return tried;
    if (fits_ == asked) return Bisect();
    fits_ = fits;
    fails_ = fails;
    found_ = found;
    return Done();
  }

  Steps& steps_;
  const Layers& layers_;
  const AllocatorConfig& config_;
  const Bytes capacity_;
  const bool alone_;
  LargestBatch found_;
  enum class Trust : uint8_t { kLayout, kIdeal, kNothing };
  Trust trust_ = Trust::kLayout;
  LaidOut near_;               // near the answer
  int64_t ideal_ = 2;          // no batch much above it can fit
  int64_t fits_ = 0;           // the largest below fails_ that fits
  int64_t fails_ = kNone;      // the smallest that fails
  int64_t proved_to_fit_ = 0;  // the last that was replayed
  int64_t proved_to_fail_ = kNone;
};

}  // namespace

int64_t IdealBatch(const Timeline& timeline, Bytes capacity, int64_t limit) {
  const std::vector<RequestedLevel> levels = RequestedLevels(timeline);
  if (levels.empty()) return limit;
  const auto room = static_cast<double>(capacity.count());
  // Sizes never fall when the batch grows, so the highest event of a batch that does not fit rules out every batch at
  // which that event alone does not fit; the next batch to try is the one below them.
  int64_t batch = limit;
  while (batch > 0) {
    const RequestedLevel& highest = *std::max_element(
        levels.begin(), levels.end(),
        [batch](const RequestedLevel& a, const RequestedLevel& b) { return a.At(batch) < b.At(batch); });
    if (highest.At(batch) <= room) break;
    int64_t fits = 0, fails = batch;
    while (fits + 1 < fails) {
      const int64_t middle = fits + (fails - fits) / 2;
      (highest.At(middle) <= room ? fits : fails) = middle;
    }
    batch = fits;
  }
  return batch;
}

Result<LargestBatch> FindLargestBatch(Steps& steps, const Layers& layers, const AllocatorConfig& config, Bytes capacity,
                                      int64_t asked, int64_t near) {
  CHECK(asked >= 1 && asked <= kLargestBatchTried);
  return Search(steps, layers, config, capacity, /*alone=*/false).Run(asked, near);
}

Result<int64_t> LargestBatchAlone(Steps& steps, const Layers& layers, const AllocatorConfig& config, Bytes capacity,
                                  int64_t asked, int64_t near) {
  CHECK(asked >= 1 && asked <= kLargestBatchTried);
  const Result<LargestBatch> found = Search(steps, layers, config, capacity, /*alone=*/true).Run(asked, near);
  if (!found.ok()) return found.error();
  return found->largest_batch;
}

Result<LargestBatch> FindLargestBatch(const Layout& layout, const Layers& layers, const AllocatorConfig& config,
                                      Bytes capacity, int64_t asked, int64_t near) {
  Steps steps(layout);
  return FindLargestBatch(steps, layers, config, capacity, asked, near);
}

}  // namespace vramplan
