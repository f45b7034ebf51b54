#include "planner/scripts/largest_value.h"

#include <doctest/doctest.h>

using namespace vramplan;

namespace {

struct Model {
  int64_t weights = 0, a_sample = 0;      // bytes
  double fragmentation = 1;               // what lies free over what is used, of the samples' bytes
  int64_t scratch_from = 0, scratch = 0;  // a kernel that wants so much more from that number on
};

Result<TriedValue> Step(const Model& model, int64_t capacity, int64_t value) {
  TriedValue tried;
  tried.value = value;
  const int64_t samples = model.a_sample * value + (value >= model.scratch_from ? model.scratch : 0);
  const int64_t backward = 3 * model.weights + samples, update = 4 * model.weights;
  tried.phases = {Bytes::Of(model.weights), Bytes::Of(backward), Bytes::Of(backward), Bytes::Of(update)};
  tried.requested = tried.allocated = Bytes::Of(std::max(backward, update));
  // What is needed without a cache; what is taken is a little more.
  const int64_t needed = 3 * model.weights + static_cast<int64_t>(model.fragmentation * static_cast<double>(samples));
  tried.reserved = Bytes::Of(std::max(needed, update) * 11 / 10);
  tried.fits = std::max(needed, update) <= capacity;
  if (!tried.fits) tried.stuck = Bytes::Of(needed - 3 * model.weights - samples);
  return tried;
}

TEST_CASE("the largest value is proved from both sides, in few runs") {
  struct Row {
    const char* what;
    Model model;
    int64_t low, high, capacity;
    size_t most_runs;
  };
  const Row rows[] = {
      {"affine", {1000, 100}, 1, 4096, 1'000'000, 9},
      {"small batches are hidden under the update", {1'000'000, 100}, 1, 100'000, 8'000'000, 6},
      {"fragmented", {1000, 100, 1.2}, 1, 4096, 200'000, 8},
      {"a kernel wants scratch from 900 on", {1000, 100, 1, 900, 20'000}, 1, 4096, 100'000, 14},
      {"not even the lowest", {1'000'000, 100}, 1, 64, 3'000'000, 4},
      {"the highest runs", {1000, 100}, 1, 64, 1'000'000, 4},
      {"twice the lowest fails", {1000, 100, 1.1}, 200, 600, 45'000, 7},
      {"nearly all of the range fails", {1000, 100}, 200, 100'000, 45'000, 12},
      {"only one", {1000, 100}, 8, 8, 1'000'000, 1},
      {"below the first try", {1000, 100'000}, 1, 64, 250'000, 4},
      {"nothing depends on it", {1000, 0}, 2, 1 << 20, 1'000'000, 4},
  };
  for (const Row& row : rows) {
    CAPTURE(row.what);
    const Result<LargestValue> found = FindLargestValue(row.low, row.high, Bytes::Of(row.capacity), [&](int64_t value) {
      return Step(row.model, row.capacity, value);
    });
    REQUIRE(found.ok());
    std::optional<int64_t> largest, failing;
    for (int64_t value = row.low; value <= row.high && !failing; ++value) {
      if (Step(row.model, row.capacity, value)->fits) {
        largest = value;
      } else {
        failing = value;
      }
    }
    CHECK(found->largest == largest);
    CHECK(found->first_failing == failing);
    CHECK(found->tried.size() <= row.most_runs);
    const auto was_tried = [&](int64_t value, bool fits) {
      for (const TriedValue& tried : found->tried) {
        if (tried.value == value && tried.fits == fits) return true;
      }
      return false;
    };
    if (largest) CHECK(was_tried(*largest, true));
    if (failing) CHECK(was_tried(*failing, false));
  }
}

TEST_CASE("what a run says goes through") {
  const Result<LargestValue> found = FindLargestValue(1, 8, Bytes::Of(100), [](int64_t) -> Result<TriedValue> {
    return Error{ErrorCode::kBadInput, "train.py", "failed", ""};
  });
  REQUIRE(!found.ok());
  CHECK(found.error().text == "failed");
}

}  // namespace
