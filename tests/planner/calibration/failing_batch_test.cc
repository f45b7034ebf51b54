#include "planner/calibration/failing_batch.h"

#include <doctest/doctest.h>

using namespace vramplan;

namespace {

// A card that runs batches up to `largest`.
FailingBatch Find(int64_t largest, int64_t first, int64_t most, std::optional<KnownBatch> known = {}) {
  return FindFailingBatch(first, most, known, [&](int64_t batch) { return std::optional(batch <= largest); });
}

TEST_CASE("failing batch: few tries when the guess was right, and which they are") {
  struct Row {
    const char* what;
    int64_t largest, first, most;
    std::optional<KnownBatch> known;
    std::vector<int64_t> tried;
  };
  const int64_t many = 1 << 20;
  const Row rows[] = {
      {"right", 38, 38, many, {}, {38, 39}},
      {"one too low", 39, 38, many, {}, {38, 39, 41, 40}},
      {"one too high", 37, 38, many, {}, {38, 37}},
      {"much too high", 30, 38, many, {}, {38, 37, 35, 31, 23, 27, 29, 30}},
      {"twice as much", 76, 38, many, {}, {38, 39, 41, 45, 53, 69, 101, 85, 77, 73, 75, 76}},
      {"not even one", 0, 2, many, {}, {2, 1}},
      {"the guess is known to run", 38, 38, many, KnownBatch{38, true}, {39}},
      {"the guess is known to fail", 37, 38, many, KnownBatch{38, false}, {37}},
      {"a smaller one is known", 38, 38, many, KnownBatch{8, true}, {38, 39}},
      {"a smaller one is known, the guess fails", 37, 38, many, KnownBatch{8, true}, {38, 37}},
      {"a larger one is known", 38, 38, many, KnownBatch{64, false}, {38, 39}},
      {"a graph without a batch", 1, 1, 1, {}, {1}},
      {"a graph without a batch that was tried", 1, 1, 1, KnownBatch{1, true}, {}},
      {"the end of the search", 50, 48, 50, {}, {48, 49, 50}},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const FailingBatch found = Find(row.largest, row.first, row.most, row.known);
    CHECK(found.tried == row.tried);
    CHECK(found.largest == row.largest);
    const bool at_end = row.largest == row.most;
    CHECK(found.failed == (at_end ? std::optional<int64_t>() : std::optional(row.largest + 1)));
    CHECK(!found.stopped);
  }
}

TEST_CASE("failing batch: every answer from every guess, within the number of tries that is promised") {
  const int64_t most = 40;
  for (int64_t first = 1; first <= most; ++first) {
    const int promised = MostTries(first, most);
    for (int64_t largest = 0; largest <= most; ++largest) {
      CAPTURE(first);
      CAPTURE(largest);
      const FailingBatch found = Find(largest, first, most);
      CHECK(found.largest == largest);
      CHECK(static_cast<int>(found.tried.size()) <= promised);
      for (int64_t known = 1; known <= most; ++known) {
        CHECK(Find(largest, first, most, KnownBatch{known, known <= largest}).largest == largest);
      }
    }
  }
}

TEST_CASE("failing batch: stops when it is told to") {
  int tries = 0;
  const FailingBatch found = FindFailingBatch(8, 100, std::nullopt, [&](int64_t) -> std::optional<bool> {
    return ++tries < 3 ? std::optional(true) : std::nullopt;
  });
  CHECK(found.stopped);
  CHECK(found.largest == 9);
  CHECK(!found.failed);
  CHECK(found.tried == std::vector<int64_t>{8, 9});
}

}  // namespace
