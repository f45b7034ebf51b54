#include "planner/timeline/recorder.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("every request is an event of its step and phase; nothing after Stop but births") {
  Timeline timeline;
  Recorder recorder(timeline);
  recorder.Enter(0, Phase::kSetup);
  const BlockId w = recorder.Allocate(SizeExpr::Constant(Bytes::Of(16)), Category::kParameters, {.op = "Module.to"});
  recorder.Enter(1, Phase::kBackward);
  const BlockId g = recorder.Allocate(SizeExpr::Of(DType::kFloat32, Dim::Batch()), Category::kTemporaries,
                                      {.layer = 3, .op = "aten::mm", .node = "MmBackward0"});
  recorder.Retag(g, Category::kGradients);
  recorder.Mark(EventKind::kAfterBackward);
  recorder.Enter(1, Phase::kUpdate);
  recorder.Free(g);
  recorder.Stop();
  recorder.Free(w);

  REQUIRE(timeline.blocks.size() == 2);
  CHECK(timeline[w].bytes.At(8) == Bytes::Of(16));
  CHECK(timeline[g].bytes.At(8) == Bytes::Of(32));
  CHECK(timeline[g].category == Category::kTemporaries);  // at birth
  CHECK(timeline[g].origin.layer == 3);
  CHECK(std::string(timeline[g].origin.node) == "MmBackward0");
  const Event expected[] = {
      {EventKind::kAllocate, Phase::kSetup, Category::kParameters, 0, w},
      {EventKind::kAllocate, Phase::kBackward, Category::kTemporaries, 1, g},
      {EventKind::kRetag, Phase::kBackward, Category::kGradients, 1, g},
      {EventKind::kAfterBackward, Phase::kBackward, Category::kTemporaries, 1, BlockId()},
      {EventKind::kFree, Phase::kUpdate, Category::kTemporaries, 1, g},
  };
  REQUIRE(timeline.events.size() == std::size(expected));
  for (size_t i = 0; i < std::size(expected); ++i) {
    CAPTURE(i);
    CHECK(timeline.events[i].kind == expected[i].kind);
    CHECK(timeline.events[i].phase == expected[i].phase);
    CHECK(timeline.events[i].category == expected[i].category);
    CHECK(timeline.events[i].step == expected[i].step);
    CHECK(timeline.events[i].block == expected[i].block);
  }
}

TEST_CASE("an event says who was at work, of a free too") {
  Timeline timeline;
  Recorder recorder(timeline);
  Origin at_work;
  recorder.Follow(&at_work);
  recorder.Enter(1, Phase::kForward);
  at_work = {.layer = 2, .op = "aten::mul"};
  const BlockId block = recorder.Allocate(SizeExpr::Constant(Bytes::Of(16)), Category::kActivations, at_work);
  at_work = {.layer = 5, .op = "aten::add", .node = "AddBackward0"};
  recorder.Free(block);
  REQUIRE(timeline.events.size() == 2);
  CHECK(timeline.events[0].origin.layer == 2);
  CHECK(timeline.events[1].origin.layer == 5);
  CHECK(std::string(timeline.events[1].origin.node) == "AddBackward0");
  CHECK(timeline[block].origin.layer == 2);
}

}  // namespace
}  // namespace vramplan
