#include "planner/solver/batch_search.h"

#include <Eigen/Core>
#include <algorithm>

#include "graph/base/check.h"

namespace vramplan {
namespace {

// Doubling away from the guess takes at most 20 replays, halving 20 more; a search that comes here is a bug.
constexpr int kMostReplays = 64;
constexpr int64_t kNone = -1;

class Search {
 public:
  Search(const Layout& layout, const Layers& layers, const AllocatorConfig& config, Bytes capacity)
      : layout_(layout), layers_(layers), config_(config), capacity_(capacity) {}

  Result<LargestBatch> Run(int64_t asked) {
    if (const Status done = CloseTheGap(asked); !done.ok()) return done.error();
    CHECK(fails_ == kNone ? fits_ == kLargestBatchTried : fails_ == fits_ + 1);
    found_.largest_batch = fits_;
    if (fails_ != kNone) found_.first_failing_batch = fails_;
    return std::move(found_);
  }

 private:
  // Lays out and replays a batch above fits_ and below fails_, and makes it one of the two.
  Status Try(int64_t batch) {
    const Result<Timeline> timeline = layout_(batch);
    if (!timeline.ok()) return timeline.error();
    Peak peak = Replay(*timeline, batch, config_, capacity_);
    CHECK(++found_.replays <= kMostReplays);
    if (peak.out_of_memory) {
      fails_ = batch;
      found_.bottleneck = DescribeAllocation(*timeline, layers_, batch, *peak.out_of_memory);
    } else {
      fits_ = batch;
      found_.peak = std::move(peak);
    }
    return Done();
  }

  // Where to start: the ideal batch. Contiguity is special at batch 1, so the coefficients are those of a layout at 2,
  // then those of the batch so found.
  Result<int64_t> Guess() {
    int64_t guess = 2;
    for (int round = 0; round < 2; ++round) {
      const Result<Timeline> timeline = layout_(guess);
      if (!timeline.ok()) return timeline.error();
      guess = std::max<int64_t>(2, IdealBatch(*timeline, capacity_, kLargestBatchTried));
    }
    return guess;
  }

  Status CloseTheGap(int64_t asked) {
    if (Status tried = Try(asked); !tried.ok()) return tried;
    if (fits_ == 0 && asked > 1) {
      if (Status tried = Try(1); !tried.ok()) return tried;
    }
    if (fits_ == 0 || fits_ == kLargestBatchTried) return Done();
    const Result<int64_t> ideal = Guess();
    if (!ideal.ok()) return ideal.error();
    const int64_t guess =
        std::clamp(*ideal, fits_ + 1, fails_ == kNone ? kLargestBatchTried : std::max(fits_ + 1, fails_ - 1));
    if (guess != fails_) {
      if (Status tried = Try(guess); !tried.ok()) return tried;
    }
    // Away from the guess in doubling steps until one batch fits and another fails ...
    int64_t stride = std::max<int64_t>(1, guess / 256);
    const bool up = fits_ == guess;
    for (bool turned = false; !turned; stride *= 2) {
      const int64_t end = fails_ == kNone ? kLargestBatchTried + 1 : fails_;
      const int64_t next = up ? fits_ + stride : fails_ - stride;
      if (next <= fits_ || next >= end) break;
      if (Status tried = Try(next); !tried.ok()) return tried;
      turned = up ? fits_ != next : fits_ == next;
    }
    // ... and then halving what is between.
    while (fits_ + 1 != fails_ && fits_ != kLargestBatchTried) {
      const int64_t end = fails_ == kNone ? kLargestBatchTried + 1 : fails_;
      if (Status tried = Try(fits_ + std::max<int64_t>(1, (end - fits_) / 2)); !tried.ok()) return tried;
    }
    return Done();
  }

  const Layout& layout_;
  const Layers& layers_;
  const AllocatorConfig& config_;
  const Bytes capacity_;
  LargestBatch found_;
  int64_t fits_ = 0;       // the largest that was seen to fit below fails_
  int64_t fails_ = kNone;  // the smallest that was seen to fail
};

}  // namespace

int64_t IdealBatch(const Timeline& timeline, Bytes capacity, int64_t limit) {
  const Eigen::Matrix<double, Eigen::Dynamic, 3> levels = LevelCoefficients(timeline);
  if (levels.rows() == 0) return limit;
  const auto fits = [&](int64_t batch) {
    const double b = static_cast<double>(batch);
    return (levels * Eigen::Vector3d(1, b, b * b)).maxCoeff() <= static_cast<double>(capacity.count());
  };
  int64_t below = 0, above = limit + 1;  // fits, does not: sizes never fall when the batch grows
  while (below + 1 < above) {
    const int64_t middle = below + (above - below) / 2;
    (fits(middle) ? below : above) = middle;
  }
  return below;
}

Result<LargestBatch> FindLargestBatch(const Layout& layout, const Layers& layers, const AllocatorConfig& config,
                                      Bytes capacity, int64_t asked) {
  CHECK(asked >= 1 && asked <= kLargestBatchTried);
  return Search(layout, layers, config, capacity).Run(asked);
}

}  // namespace vramplan
