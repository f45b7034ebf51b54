#include "planner/solver/steps.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

// A step of four events.
Timeline Step(int64_t batch) {
  Timeline timeline;
  timeline.batch = batch;
  timeline.events.resize(4);
  return timeline;
}

TEST_CASE("each batch is laid out once, as long as what is kept has few events") {
  std::vector<int64_t> laid_out;
  Steps steps(
      [&](int64_t batch) {
        laid_out.push_back(batch);
        return Step(batch);
      },
      8);
  const LaidOut two = *steps.At(2);
  CHECK(two->batch == 2);
  CHECK(*steps.At(2) == two);
  const LaidOut five = steps.Keep(Step(5));
  CHECK(*steps.At(5) == five);
  CHECK(laid_out == std::vector<int64_t>{2});
  CHECK((*steps.At(7))->batch == 7);  // and the oldest, of batch 2, is given up
  CHECK((*steps.At(5))->batch == 5);
  CHECK(laid_out == std::vector<int64_t>{2, 7});
  CHECK((*steps.At(2))->batch == 2);
  CHECK(laid_out == std::vector<int64_t>{2, 7, 2});
  CHECK(two->batch == 2);  // who has a step keeps it
}

TEST_CASE("a step larger than that is kept alone, and errors are told") {
  int calls = 0;
  Steps steps(
      [&](int64_t batch) -> Result<Timeline> {
        ++calls;
        if (batch == 3) return Error{ErrorCode::kBadInput, "x", "cannot be laid out", ""};
        return Step(batch);
      },
      1);
  CHECK(steps.At(1).ok());
  CHECK(steps.At(1).ok());
  CHECK(calls == 1);
  CHECK(steps.At(3).error().text == "cannot be laid out");
}

}  // namespace
}  // namespace vramplan
