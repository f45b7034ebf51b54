// FindFailingBatch: the largest batch that a card really runs, and the next one, which fails. Each try is a whole step
// on the card, so it takes few tries when the prediction was right.
//
//   predicted 38:   38 runs, 39 fails: two tries
//   predicted 38:   38 fails, 37, 35, 31 fail, 23 runs, 27, 29, 30 run: 30 is the largest
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace vramplan {

struct FailingBatch {
  int64_t largest = 0;            // ran; 0: not even 1
  std::optional<int64_t> failed;  // largest + 1; nothing: the largest batch that may be tried ran, or it was stopped
  std::vector<int64_t> tried;     // in order
  bool stopped = false;
};

// Whether the batch runs; nothing: stop.
using RunsBatch = std::function<std::optional<bool>(int64_t batch)>;

// `first` is tried first, within 1 .. `most`. `known`: what was found out before, which is not tried again.
struct KnownBatch {
  int64_t batch = 0;
  bool runs = false;
};
FailingBatch FindFailingBatch(int64_t first, int64_t most, const std::optional<KnownBatch>& known,
                              const RunsBatch& runs);

// The most tries that it takes while every batch below one that runs runs, too.
int MostTries(int64_t first, int64_t most);

}  // namespace vramplan
