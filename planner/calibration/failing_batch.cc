#include "planner/calibration/failing_batch.h"

#include <algorithm>
#include <bit>

#include "graph/base/check.h"

namespace vramplan {

FailingBatch FindFailingBatch(int64_t first, int64_t most, const std::optional<KnownBatch>& known,
                              const RunsBatch& runs) {
  CHECK(most >= 1);
  FailingBatch found;
  int64_t low = 0, high = most + 1;  // runs, does not (or may not be tried)
  if (known) (known->runs ? low : high) = known->batch;
  int64_t up = 1, down = 1;  // how far the next try goes beyond what is known
  int64_t next = std::clamp<int64_t>(first, 1, most);
  bool any_failed = known && !known->runs, any_ran = known && known->runs;
  while (low + 1 < high) {
    next = std::clamp(next, low + 1, high - 1);
    const std::optional<bool> ran = runs(next);
    if (!ran) {
      found.stopped = true;
      break;
    }
    found.tried.push_back(next);
    (*ran ? any_ran : any_failed) = true;
    (*ran ? low : high) = next;
    if (*ran && !any_failed) {
      next = low + up;
      up *= 2;
    } else if (!*ran && !any_ran) {
      next = high - down;
      down *= 2;
    } else {
      // The first step away from a guess is small, the others halve what is left.
      const bool just_beyond = found.tried.size() == 1 && known;
      next = just_beyond ? (*ran ? low + 1 : high - 1) : low + (high - low) / 2;
    }
  }
  found.largest = low;
  if (!found.stopped && high <= most) found.failed = high;
  return found;
}

// Doubling steps cover the larger side of the guess in `doublings` tries, and halving the last step takes one less.
int MostTries(int64_t first, int64_t most) {
  const auto side = static_cast<uint64_t>(std::max(first - 1, most - first));
  const int doublings = std::bit_width(side);
  return std::max(1, 2 * doublings);
}

}  // namespace vramplan
