#include "planner/runtimes/runtime.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/runtimes/stand_in.h"
#include "planner/timeline/timeline.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TrainingSpec SpecOf(Runtime runtime, Mode mode = Mode::kTrain) {
  TrainingSpec spec;
  spec.framework.runtime = runtime;
  spec.mode = mode;
  return spec;
}

// Two linears of 64 MiB weights each on 1 MiB a sample.
Layers TwoLinears() {
  LayersByHand hand("torch.nn.Module");
  const auto weight = [&](const char* name) {
    hand.layers.values.push_back(
        {.name = name, .type = DType::kFloat32, .shape = {4096, 4096}, .role = Role::kParameter});
    const ValueId id{static_cast<int32_t>(hand.layers.values.size()) - 1};
    hand.layers.parameters.push_back(id);
    return id;
  };
  const ValueId x = hand.Input("x", {Dim::Batch() * Dim(64), 4096});
  const ValueId a = hand.Add("linear", {x, weight("w")}, {Dim::Batch() * Dim(64), 4096});
  const ValueId r = hand.Add("relu", {a}, {Dim::Batch() * Dim(64), 4096});
  hand.layers.outputs = {hand.Add("linear", {r, weight("v")}, {Dim::Batch() * Dim(64), 4096})};
  return hand.layers;
}

Peak PeakOf(const TrainingSpec& spec, int64_t batch) {
  Notes notes;
  const auto timeline = ScheduleFor(TwoLinears(), spec, batch, &notes);
  REQUIRE(timeline.ok());
  AllocatorConfig config;
  config.bfc = ArenaOf(spec);
  return Replay(*timeline, batch, config, Bytes::Max());
}

TEST_CASE("TensorFlow: PyTorch's states, no optimizer temporaries, nothing of a step outlives it, no cuBLAS blocks") {
  const auto of = [](const Peak& peak, Category category) {
    return peak.moment.categories[static_cast<size_t>(category)];
  };
  TrainingSpec torch = SpecOf(Runtime::kPyTorch);
  torch.optimizer_impl = OptimizerImpl::kFused;
  const Peak theirs = PeakOf(torch, 4), ours = PeakOf(SpecOf(Runtime::kTensorFlow), 4);
  CHECK(of(ours, Category::kParameters) == of(theirs, Category::kParameters));
  CHECK(of(ours, Category::kOptimizerState) == of(theirs, Category::kOptimizerState));
  CHECK(of(theirs, Category::kWorkspace) > Bytes());
  CHECK(of(ours, Category::kWorkspace) == Bytes());
  CHECK(ours.peak.requested < theirs.peak.requested);
  // Steps 2 and 3 begin with variables, states and the batch alone.
  Notes notes;
  const auto timeline = ScheduleStandIn(TwoLinears(), SpecOf(Runtime::kTensorFlow), 4, &notes);
  REQUIRE(timeline.ok());
  Bytes level;
  for (const Event& event : timeline->events) {
    if (event.kind == EventKind::kAllocate) level += (*timeline)[event.block].bytes.At(4);
    if (event.kind == EventKind::kFree) level -= (*timeline)[event.block].bytes.At(4);
    if (event.kind != EventKind::kStepEnd) continue;
    CHECK(level >= of(ours, Category::kParameters) * 3);
    CHECK(level < of(ours, Category::kParameters) * 3 + Bytes::MiB(9));  // input and target of 4 MiB
  }
  int said = 0;
  for (const Note& note : notes.all()) said += note.code == "unmeasured-framework" ? 1 : 0;
  CHECK(said == 1);
}

TEST_CASE("JAX: one block a step, and new states beside the old ones unless they are donated") {
  TrainingSpec spec = SpecOf(Runtime::kJax);
  const Bytes states = Bytes::MiB(64) * 2 * 3;  // two weights, and Adam's two moments of each
  const Peak kept = PeakOf(spec, 4);
  spec.pool.donate = true;
  const Peak donated = PeakOf(spec, 4);
  CHECK(kept.peak.requested - donated.peak.requested >= states);
  CHECK(kept.peak.requested - donated.peak.requested < states + Bytes::KiB(4));  // step counters
  Notes notes;
  const auto timeline = ScheduleFor(TwoLinears(), spec, 4, &notes);
  REQUIRE(timeline.ok());
  int blocks = 0;
  for (const Event& event : timeline->events) {
    if (event.kind == EventKind::kAllocate && event.step == 3) ++blocks;
  }
  CHECK(blocks == 1);
  // Its size is a polynomial of the batch.
  CHECK(timeline->blocks.back().bytes.At(8) > timeline->blocks.back().bytes.At(4));
}

TEST_CASE("no backward, nothing to keep for it") {
  Notes notes;
  for (const Runtime runtime : {Runtime::kTensorFlow, Runtime::kJax}) {
    const auto timeline = ScheduleFor(TwoLinears(), SpecOf(runtime, Mode::kEval), 4, &notes);
    REQUIRE_FALSE(timeline.ok());
    CHECK(timeline.error().subject == "--mode");
    CHECK(PeakOf(SpecOf(runtime, Mode::kInfer), 4).peak.requested < PeakOf(SpecOf(runtime), 4).peak.requested);
  }
}

TEST_CASE("pools") {
  struct Row {
    Runtime runtime;
    const char* card;
    double fraction;  // 0: not given
    Bytes pool;
  };
  const Bytes usable = Bytes::GiB(16), free_memory = Bytes::GiB(15);
  const Row rows[] = {
      // MinSystemMemory of tensorflow/core/common_runtime/gpu/gpu_device.cc
      {Runtime::kTensorFlow, "6.1", 0, free_memory - Bytes::MiB(500)},
      {Runtime::kTensorFlow, "7.5", 0, free_memory - Bytes::MiB(1050)},
      {Runtime::kTensorFlow, "8.6", 0, free_memory - Bytes::MiB(1536)},
      {Runtime::kTensorFlow, "9.0", 0, free_memory - Bytes::MiB(1800)},
      {Runtime::kTensorFlow, "9.0", 0.5, Bytes::GiB(8)},
      {Runtime::kJax, "7.5", 0, Bytes::GiB(12)},  // 75 %
      {Runtime::kJax, "7.5", 0.25, Bytes::GiB(4)},
      {Runtime::kOnnxRuntime, "7.5", 0, Bytes::Max()},
      {Runtime::kPyTorch, "7.5", 0, Bytes::Max()},
  };
  for (const Row& row : rows) {
    CAPTURE(Name(row.runtime));
    TrainingSpec spec = SpecOf(row.runtime);
    if (row.fraction > 0) spec.pool.fraction = row.fraction;
    const Pool pool = PoolOn(spec, usable, free_memory, ParseCapability(row.card).value());
    CHECK(pool.bytes == row.pool);
    CHECK(pool.taken_whole == (row.runtime == Runtime::kTensorFlow || row.runtime == Runtime::kJax));
  }
  TrainingSpec limited = SpecOf(Runtime::kOnnxRuntime);
  limited.ort.limit = Bytes::GiB(2);
  CHECK(PoolOn(limited, usable, free_memory, {7, 5}).bytes == Bytes::GiB(2));
  TrainingSpec small = SpecOf(Runtime::kTensorFlow);
  CHECK(PoolOn(small, Bytes::GiB(2), Bytes::MiB(1700), {7, 5}).bytes == Bytes::MiB(1475));
}

TEST_CASE("arenas") {
  CHECK_FALSE(ArenaOf(SpecOf(Runtime::kPyTorch)));
  CHECK(*ArenaOf(SpecOf(Runtime::kOnnxRuntime)) == BfcConfig());
  TrainingSpec growing = SpecOf(Runtime::kTensorFlow);
  CHECK(ArenaOf(growing)->growth == BfcGrowth::kWholePool);
  growing.pool.preallocate = false;
  CHECK(*ArenaOf(growing) ==
        BfcConfig{.first_region = Bytes::MiB(2), .largest_doubling = Bytes::Max(), .releases_regions = true});
}

}  // namespace
}  // namespace vramplan
