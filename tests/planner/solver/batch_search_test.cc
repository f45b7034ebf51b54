#include "planner/solver/batch_search.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

// A step that holds `fixed` bytes, then makes `count` blocks of `each` * batch bytes, all alive at once.
Timeline Step(int64_t batch, Bytes fixed, int count, Bytes each) {
  Timeline timeline;
  timeline.batch = batch;
  timeline.steps = 1;
  const auto allocate = [&](SizeExpr bytes, int step, Category category) {
    timeline.blocks.push_back({.bytes = bytes, .category = category});
    Event event;
    event.kind = EventKind::kAllocate;
    event.phase = step == 0 ? Phase::kSetup : Phase::kForward;
    event.category = category;
    event.step = static_cast<int8_t>(step);
    event.block = BlockId{static_cast<int32_t>(timeline.blocks.size()) - 1};
    timeline.events.push_back(event);
  };
  if (fixed > Bytes()) allocate(SizeExpr::Constant(fixed), 0, Category::kParameters);
  for (int i = 0; i < count; ++i) {
    allocate(SizeExpr::Of(DType::kUint8, Dim::Polynomial(0, each.count(), 0)), 1, Category::kActivations);
  }
  Event end;
  end.kind = EventKind::kStepEnd;
  end.step = 1;
  timeline.events.push_back(end);
  return timeline;
}

bool Fits(const Layout& layout, int64_t batch, Bytes capacity) {
  return !Replay(*layout(batch), batch, AllocatorConfig(), capacity).out_of_memory;
}

TEST_CASE("the ideal batch is the last whose requested bytes stay within the capacity") {
  const Timeline step = Step(1, Bytes::MiB(100), 4, Bytes::MiB(3));
  struct Row {
    Bytes capacity;
    int64_t batch;
  };
  const Row kRows[] = {{Bytes::MiB(99), 0},  {Bytes::MiB(111), 0},    {Bytes::MiB(112), 1},    {Bytes::MiB(123), 1},
                       {Bytes::MiB(124), 2}, {Bytes::MiB(1300), 100}, {Bytes::MiB(1311), 100}, {Bytes::Max(), 1000}};
  for (const Row& row : kRows) {
    CHECK_EQ(IdealBatch(step, row.capacity, 1000), row.batch);
  }
}

TEST_CASE("the answer is the batch before the first that fails, whatever the capacity") {
  for (const int count : {1, 3, 17}) {
    for (const int64_t each : {7'000, 300'000, 1'500'000, 23'000'000}) {
      for (const int64_t capacity : {40, 64, 200, 777, 4000}) {
        CAPTURE(count);
        CAPTURE(each);
        CAPTURE(capacity);
        const Layout layout = [&](int64_t batch) { return Step(batch, Bytes::MiB(30), count, Bytes::Of(each)); };
        const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::MiB(capacity));
        REQUIRE(found.ok());
        REQUIRE(found->first_failing_batch.has_value());
        CHECK_EQ(*found->first_failing_batch, found->largest_batch + 1);
        CHECK_FALSE(Fits(layout, *found->first_failing_batch, Bytes::MiB(capacity)));
        REQUIRE(found->bottleneck.has_value());
        CHECK_EQ(found->bottleneck->batch, *found->first_failing_batch);
        CHECK_EQ(found->peak.has_value(), found->largest_batch > 0);
        if (found->largest_batch > 0) {
          CHECK(Fits(layout, found->largest_batch, Bytes::MiB(capacity)));
          CHECK_LE(found->peak->peak.reserved, Bytes::MiB(capacity));
        }
        CHECK_LE(found->replays, 30);
        Steps steps(layout);
        CHECK_EQ(*LargestBatchAlone(steps, Layers(), AllocatorConfig(), Bytes::MiB(capacity)), found->largest_batch);
      }
    }
  }
}

TEST_CASE("not even one sample fits") {
  const Layout layout = [](int64_t batch) { return Step(batch, Bytes::MiB(30), 1, Bytes::MiB(3)); };
  const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::MiB(20));
  REQUIRE(found.ok());
  CHECK_EQ(found->largest_batch, 0);
  CHECK_EQ(found->first_failing_batch, 1);
  CHECK_FALSE(found->peak.has_value());
  Bottleneck bottleneck;
  bottleneck.batch = 1;
  bottleneck.tensor = "parameters";
  bottleneck.bytes = Bytes::MiB(30);
  CHECK(found->bottleneck == bottleneck);
}

TEST_CASE("the search ends at 2^20 samples") {
  const Layout layout = [](int64_t batch) { return Step(batch, Bytes::MiB(30), 1, Bytes::Of(4)); };
  const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::GiB(16));
  REQUIRE(found.ok());
  CHECK_EQ(found->largest_batch, kLargestBatchTried);
  CHECK_FALSE(found->first_failing_batch.has_value());
  CHECK_FALSE(found->bottleneck.has_value());
}

TEST_CASE("a layout whose need jumps up and down still gives a batch that fits before one that fails") {
  // Odd batches take half as much again: what fits is no interval.
  const Layout layout = [](int64_t batch) {
    return Step(batch, Bytes::MiB(30), 5, Bytes::Of(batch % 2 == 1 ? 1'500'000 : 1'000'000));
  };
  for (const int64_t capacity : {100, 333, 1000, 3000}) {
    CAPTURE(capacity);
    const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::MiB(capacity));
    REQUIRE(found.ok());
    REQUIRE(found->largest_batch > 0);
    CHECK(Fits(layout, found->largest_batch, Bytes::MiB(capacity)));
    CHECK_FALSE(Fits(layout, found->largest_batch + 1, Bytes::MiB(capacity)));
    CHECK_EQ(found->first_failing_batch, found->largest_batch + 1);
  }
}

TEST_CASE("the answer is never below a batch that was asked for and fits") {
  // Only every seventh batch is small.
  const Layout layout = [](int64_t batch) {
    return Step(batch, Bytes::MiB(30), 5, Bytes::Of(batch % 7 == 0 ? 1'000'000 : 2'000'000));
  };
  for (int64_t asked = 1; asked < 220; ++asked) {
    const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::MiB(1000), asked);
    REQUIRE(found.ok());
    CAPTURE(asked);
    if (Fits(layout, asked, Bytes::MiB(1000))) CHECK_GE(found->largest_batch, asked);
    CHECK(Fits(layout, found->largest_batch, Bytes::MiB(1000)));
    CHECK_FALSE(Fits(layout, found->largest_batch + 1, Bytes::MiB(1000)));
    CHECK_EQ(found->first_failing_batch, found->largest_batch + 1);
    CHECK_EQ(found->bottleneck->batch, found->largest_batch + 1);
    CHECK_EQ(found->peak->peak,
             Replay(*layout(found->largest_batch), found->largest_batch, AllocatorConfig(), Bytes::MiB(1000)).peak);
    Steps steps(layout);
    CHECK_EQ(*LargestBatchAlone(steps, Layers(), AllocatorConfig(), Bytes::MiB(1000), asked), found->largest_batch);
  }
}

TEST_CASE("an error of the layout is the answer") {
  const Layout layout = [](int64_t batch) -> Result<Timeline> {
    if (batch > 1) return Error{ErrorCode::kBadInput, "node", "cannot", ""};
    return Step(batch, Bytes::MiB(30), 1, Bytes::MiB(3));
  };
  const Result<LargestBatch> found = FindLargestBatch(layout, Layers(), AllocatorConfig(), Bytes::GiB(1));
  REQUIRE_FALSE(found.ok());
  CHECK_EQ(found.error().subject, "node");
}

// x [B, 4] -> linear -> y [B, 8], layer 0.
Layers OneLinear() {
  Layers layers;
  layers.values = {{"x", DType::kFloat32, {Dim::Batch(), 4}, Role::kInput},
                   {"weight", DType::kFloat32, {8, 4}, Role::kParameter},
                   {"y", DType::kFloat32, {Dim::Batch(), 8}, Role::kActivation}};
  Layer linear;
  linear.op = "linear";
  linear.name = "/fc/Gemm";
  linear.inputs = {{0}, {1}};
  linear.outputs = {{2}};
  layers.layers.push_back(linear);
  return layers;
}

TEST_CASE("a bottleneck names the tensor by its size and the phase") {
  struct Row {
    int64_t bytes;
    Category category;
    Phase phase;
    const char* tensor;
  };
  constexpr Row kRows[] = {
      {96, Category::kActivations, Phase::kForward, "y"},
      {100, Category::kActivations, Phase::kForward, "saved by linear"},
      {100, Category::kTemporaries, Phase::kForward, "temporary of linear"},
      {48, Category::kTemporaries, Phase::kBackward, "gradient of x"},
      {128, Category::kTemporaries, Phase::kBackward, "gradient of weight"},
      {100, Category::kTemporaries, Phase::kBackward, "temporary of the backward of linear"},
      {8'519'680, Category::kWorkspace, Phase::kForward, "workspace of linear"},
  };
  for (const Row& row : kRows) {
    Timeline timeline;
    timeline.blocks.push_back({.bytes = SizeExpr::Constant(Bytes::Of(row.bytes)),
                               .category = row.category,
                               .origin = Origin{.layer = 0, .op = "aten::addmm"}});
    Event event;
    event.phase = row.phase;
    event.step = 2;
    event.block = BlockId{0};
    timeline.events.push_back(event);
    const Bottleneck expected{3, 2, row.phase, "/fc/Gemm", row.tensor, Bytes::Of(row.bytes)};
    CHECK(DescribeAllocation(timeline, OneLinear(), 3, 0) == expected);
  }
}

}  // namespace
}  // namespace vramplan
