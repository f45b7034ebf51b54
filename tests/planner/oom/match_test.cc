// Messages as PyTorch would print them when our own replay of a step runs out of memory: the request that is found is
// the one that was refused.
#include "planner/oom/match.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/allocator/replay.h"
#include "planner/timeline/timeline.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

struct Run {
  Layers layers;
  TrainingSpec spec;
  Result<Timeline> At(int64_t batch) const {
    Notes notes;
    return Schedule(layers, spec, batch, &notes);
  }
};

Run Example(const std::string& model, const std::string& dims) {
  Result<Layers> layers = testing::LayersOf(std::string(VRAMPLAN_SOURCE_DIR) + "/models/" + model + ".onnx", dims);
  REQUIRE(layers.ok());
  return {*std::move(layers), TrainingSpec()};
}

// As the message prints them: two decimals.
Bytes Printed(Bytes bytes) { return ParseBytes(ToString(bytes)).value(); }

struct Failed {
  OutOfMemory message;
  Bottleneck refused;
};

// What is printed when this batch runs on a card where PyTorch can take `room`.
Failed FailAt(const Run& run, int64_t batch, Bytes room) {
  const Result<Timeline> timeline = run.At(batch);
  REQUIRE(timeline.ok());
  const Peak peak = Replay(*timeline, batch, AllocatorConfig(), room);
  REQUIRE(peak.out_of_memory);
  const size_t event = *peak.out_of_memory;
  Failed failed;
  failed.refused = DescribeAllocation(*timeline, run.layers, batch, event);
  failed.message.kind = "pytorch";
  failed.message.tried = Printed(CachingAllocator(Bytes::Max(), AllocatorConfig()).SegmentFor(failed.refused.bytes));
  failed.message.allocated = Printed(Placements(*timeline, batch, AllocatorConfig())[event - 1].allocated);
  return failed;
}

TEST_CASE("the request and the batch of a message") {
  struct Row {
    const char *model, *dims;
    int64_t batch;
    Bytes room;
  };
  constexpr Row kRows[] = {{"unet", "", 39, Bytes::Of(15261515776)},
                           {"resnet50", "", 70, Bytes::GiB(6)},
                           {"gpt_small", "sequence=64", 48, Bytes::GiB(3)}};
  for (const Row& row : kRows) {
    CAPTURE(row.model);
    const Run run = Example(row.model, row.dims);
    const Failed failed = FailAt(run, row.batch, row.room);
    const auto timeline = run.At(row.batch);
    const auto request = RequestLike(failed.message, *timeline, run.layers, row.batch, AllocatorConfig(), row.room);
    REQUIRE(request);
    CHECK_EQ(request->request.tensor, failed.refused.tensor);
    CHECK_EQ(request->request.phase, failed.refused.phase);
    CHECK_EQ(request->request.bytes, failed.refused.bytes);
    CHECK(request->refused);
    CHECK_LT(request->difference, 0.001);
    const auto lay_out = [&](int64_t batch) { return run.At(batch); };
    const auto found = BatchLike(failed.message, lay_out, run.layers, AllocatorConfig(), row.room, 512);
    REQUIRE(found);
    CHECK_EQ(found->request.batch, row.batch);
  }
}

// The run held a twentieth more than the step: another version, or outputs that were kept.
TEST_CASE("where no batch is close, the closest is found, and none that fails at another request") {
  const Run run = Example("gpt_small", "sequence=64");
  Failed failed = FailAt(run, 48, Bytes::GiB(3));
  failed.message.allocated = Bytes::Of(failed.message.allocated->count() / 20 * 21);
  const auto lay_out = [&](int64_t batch) { return run.At(batch); };
  const auto found = BatchLike(failed.message, lay_out, run.layers, AllocatorConfig(), Bytes::GiB(3), 512);
  REQUIRE(found);
  CHECK_EQ(found->request.batch, 48);
  CHECK_FALSE(found->refused);
  CHECK_GT(found->difference, kClose);
  CHECK_LT(found->difference, 0.06);
  // With hardly any memory every batch fails long before.
  CHECK_FALSE(BatchLike(failed.message, lay_out, run.layers, AllocatorConfig(), Bytes::MiB(256), 512));
  const auto given = RequestLike(failed.message, *run.At(48), run.layers, 48, AllocatorConfig(), Bytes::MiB(256));
  REQUIRE(given);
  CHECK(given->fails_elsewhere);
}

TEST_CASE("a message without its numbers, or of another model, finds nothing") {
  const Run run = Example("mlp", "");
  const Result<Timeline> timeline = run.At(64);
  OutOfMemory message;
  const auto lay_out = [&](int64_t batch) { return run.At(batch); };
  CHECK_FALSE(RequestLike(message, *timeline, run.layers, 64, AllocatorConfig(), Bytes::GiB(8)));
  CHECK_FALSE(BatchLike(message, lay_out, run.layers, AllocatorConfig(), Bytes::GiB(8), 512));
  message.tried = Bytes::MiB(77);
  message.allocated = Bytes::GiB(20);
  CHECK_FALSE(RequestLike(message, *timeline, run.layers, 64, AllocatorConfig(), Bytes::GiB(8)));
  CHECK_FALSE(BatchLike(message, lay_out, run.layers, AllocatorConfig(), Bytes::GiB(8), 512));
}

TEST_CASE("what cudaMalloc is asked for") {
  const CachingAllocator allocator(Bytes::Max(), AllocatorConfig());
  CHECK_EQ(allocator.SegmentFor(Bytes::Of(1)), Bytes::MiB(2));
  CHECK_EQ(allocator.SegmentFor(Bytes::MiB(1)), Bytes::MiB(2));
  CHECK_EQ(allocator.SegmentFor(Bytes::Of((1 << 20) + 1)), Bytes::MiB(20));
  CHECK_EQ(allocator.SegmentFor(Bytes::MiB(10) - Bytes::Of(512)), Bytes::MiB(20));
  CHECK_EQ(allocator.SegmentFor(Bytes::MiB(10)), Bytes::MiB(10));
  CHECK_EQ(allocator.SegmentFor(Bytes::MiB(11)), Bytes::MiB(12));
}

}  // namespace
}  // namespace vramplan
