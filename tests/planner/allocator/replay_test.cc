#include "planner/allocator/replay.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <vector>

namespace vramplan {
namespace {

constexpr int64_t kReplayMiB = int64_t{1} << 20;

// A timeline written event by event; sizes are plain bytes, or bytes a sample.
class TimelineWriter {
 public:
  TimelineWriter& Step(int step) {
    step_ = step;
    timeline_.steps = step;
    return *this;
  }
  TimelineWriter& In(Phase phase) {
    phase_ = phase;
    return *this;
  }
  BlockId Allocate(Category category, int64_t bytes, int64_t bytes_a_sample = 0) {
    timeline_.blocks.push_back(
        {.bytes = SizeExpr::Of(DType::kUint8, Dim::Polynomial(bytes, bytes_a_sample, 0)), .category = category});
    const BlockId id{static_cast<int32_t>(timeline_.blocks.size()) - 1};
    Add(EventKind::kAllocate, category, id);
    return id;
  }
  void Free(BlockId id) { Add(EventKind::kFree, Category::kTemporaries, id); }
  void Retag(BlockId id, Category category) { Add(EventKind::kRetag, category, id); }
  void Mark(EventKind kind) { Add(kind, Category::kTemporaries, BlockId()); }
  const Timeline& timeline() const { return timeline_; }

 private:
  void Add(EventKind kind, Category category, BlockId id) {
    timeline_.events.push_back({kind, phase_, category, static_cast<int8_t>(step_), id});
  }
  Timeline timeline_;
  Phase phase_ = Phase::kSetup;
  int step_ = 0;
};

// MiB  40 |              _10_                (step 2: state is there, and its temporary is the peak)
//         |       _23/2_|                    parameters 4, inputs 1 a sample, activation 11.5 in a block of 12,
//       0 |__4+b__|        backward, update  gradient 4, state 4
TimelineWriter TwoSteps() {
  TimelineWriter w;
  w.Allocate(Category::kParameters, 4 * kReplayMiB);
  w.Allocate(Category::kInputs, 0, 3 * kReplayMiB / 2);
  BlockId state;
  for (int step = 1; step <= 2; ++step) {
    w.Step(step).In(Phase::kForward);
    const BlockId activation = w.Allocate(Category::kActivations, 23 * kReplayMiB / 2);
    w.Mark(EventKind::kAfterForward);
    w.In(Phase::kBackward);
    const BlockId gradient = w.Allocate(Category::kTemporaries, 4 * kReplayMiB);
    w.Retag(gradient, Category::kGradients);
    w.Free(activation);
    w.Mark(EventKind::kAfterBackward);
    w.In(Phase::kUpdate);
    if (step == 1) state = w.Allocate(Category::kOptimizerState, 4 * kReplayMiB);
    const BlockId scratch = w.Allocate(Category::kTemporaries, 15 * kReplayMiB);
    w.Free(scratch);
    w.Free(gradient);
    w.Mark(EventKind::kStepEnd);
  }
  return w;
}

TEST_CASE("the highest request is that of a replay, whatever the allocator does with it") {
  const TimelineWriter writer = TwoSteps();
  for (const int64_t batch : {1, 2, 7})
    CHECK(RequestedPeak(writer.timeline(), batch) ==
          Replay(writer.timeline(), batch, AllocatorConfig(), Bytes::Max()).peak.requested);
  TimelineWriter setup;  // what the setup alone takes does not count
  setup.Free(setup.Allocate(Category::kParameters, 8 * kReplayMiB));
  setup.Step(1).In(Phase::kForward);
  setup.Allocate(Category::kActivations, kReplayMiB);
  CHECK(RequestedPeak(setup.timeline(), 1) == Bytes::MiB(1));
}

TEST_CASE("steps, phases, categories and the blocks at the peak") {
  const TimelineWriter w = TwoSteps();
  PeakSegments segments;
  const Peak peak = Replay(w.timeline(), 2, {}, Bytes::Max(), &segments);

  const std::vector<StepPeak> steps = {
      // 4 + 3 + 4 + 4 + 15 in the update; the 15 get the 16 that are left of a segment, in step 2 a segment of their
      // own
      {1,
       {Bytes::MiB(30), Bytes::MiB(31), Bytes::MiB(40)},
       Phase::kUpdate,
       Bytes::Of(37 * kReplayMiB / 2),
       Bytes::MiB(11)},
      {2,
       {Bytes::MiB(30), Bytes::MiB(31), Bytes::MiB(56)},
       Phase::kUpdate,
       Bytes::Of(45 * kReplayMiB / 2),
       Bytes::MiB(15)}};
  CHECK(peak.steps == steps);
  CHECK(peak.peak == Levels{Bytes::MiB(30), Bytes::MiB(31), Bytes::MiB(56)});
  CHECK(!peak.out_of_memory);
  CHECK(peak.retries == 0);

  CHECK(peak.moment.step == 1);
  CHECK(peak.moment.phase == Phase::kUpdate);
  CHECK(peak.moment.event == 9);
  CHECK(peak.moment.levels == Levels{Bytes::MiB(30), Bytes::MiB(31), Bytes::MiB(40)});
  std::array<Bytes, kCategories> categories{};
  categories[static_cast<size_t>(Category::kParameters)] = Bytes::MiB(4);
  categories[static_cast<size_t>(Category::kInputs)] = Bytes::MiB(3);
  categories[static_cast<size_t>(Category::kGradients)] = Bytes::MiB(4);
  categories[static_cast<size_t>(Category::kOptimizerState)] = Bytes::MiB(4);
  categories[static_cast<size_t>(Category::kTemporaries)] = Bytes::MiB(15);
  CHECK(peak.moment.categories == categories);
  CHECK(peak.moment.slack == Bytes::MiB(1));
  CHECK(peak.moment.live == std::vector<BlockId>{{0}, {1}, {3}, {4}, {5}});

  Bytes live;
  std::vector<BlockId> owners;
  for (const Segment& segment : segments.segments) {
    for (const SegmentBlock& block : segment.blocks) {
      if (!block.live()) continue;
      owners.push_back(segments.owners[static_cast<size_t>(block.handle)]);
      CHECK(block.requested == w.timeline()[owners.back()].bytes.At(2));
      live += block.size;
    }
  }
  CHECK(live == peak.moment.levels.allocated);
  std::sort(owners.begin(), owners.end());
  CHECK(owners == peak.moment.live);
}

TEST_CASE("a step begins with the level that is there, and slack counts") {
  TimelineWriter w;
  const BlockId parameters = w.Allocate(Category::kParameters, 40 * kReplayMiB);
  const BlockId loading = w.Allocate(Category::kTemporaries, 60 * kReplayMiB);
  w.Free(loading);
  w.Step(1).In(Phase::kForward);
  w.Free(parameters);
  w.In(Phase::kBackward);
  w.Allocate(Category::kActivations, 23 * kReplayMiB / 2);
  const Peak peak = Replay(w.timeline(), 1, {}, Bytes::Max());
  // The transient of the setup is no step's; its segment is still reserved.
  CHECK(peak.steps ==
        std::vector<StepPeak>{{1, {Bytes::MiB(40), Bytes::MiB(40), Bytes::MiB(100)}, Phase::kForward, {}, {}}});
  CHECK(peak.moment.step == 0);
  CHECK(peak.moment.phase == Phase::kSetup);
}

TEST_CASE("unsplit rest of a block is slack") {
  TimelineWriter w;
  w.Step(1).In(Phase::kForward);
  w.Allocate(Category::kActivations, 23 * kReplayMiB / 2);
  w.Allocate(Category::kActivations, 700);
  const Peak peak = Replay(w.timeline(), 1, {}, Bytes::Max());
  CHECK(peak.moment.slack == Bytes::Of(kReplayMiB / 2 + 1024 - 700));
  AllocatorConfig expandable;
  expandable.expandable_segments = true;
  CHECK(Replay(w.timeline(), 1, expandable, Bytes::Max()).moment.slack == Bytes::Of(1024 - 700));
}

TEST_CASE("the first phase that reaches the peak is named; recomputation belongs to the backward") {
  for (const Phase second : {Phase::kRecompute, Phase::kBackward, Phase::kUpdate}) {
    for (const int64_t more : {-512, 0, 512}) {
      TimelineWriter w;
      w.Step(1).In(Phase::kForward);
      w.Free(w.Allocate(Category::kActivations, 4096));
      w.In(second);
      w.Allocate(Category::kTemporaries, 4096 + more);
      const Phase named = second == Phase::kRecompute ? Phase::kBackward : second;
      const Peak peak = Replay(w.timeline(), 1, {}, Bytes::Max());
      CHECK(peak.steps[0].phase == (more > 0 ? named : Phase::kForward));
      CHECK(peak.moment.phase == (more > 0 ? second : Phase::kForward));
    }
  }
}

TEST_CASE("out of memory: the replay stops at the event, with what was reached") {
  const TimelineWriter w = TwoSteps();
  const Peak first = Replay(w.timeline(), 2, {}, Bytes::MiB(36));  // the gradient's segment is the second of 20 MiB
  CHECK(first.out_of_memory == size_t{4});
  CHECK(first.retries == 1);
  CHECK(first.steps.size() == 1);
  CHECK(first.peak == Levels{Bytes::Of(37 * kReplayMiB / 2), Bytes::Of(37 * kReplayMiB / 2), Bytes::MiB(20)});
  CHECK(first.moment.event == 2);

  const Peak second = Replay(w.timeline(), 2, {}, Bytes::MiB(40));
  CHECK(second.out_of_memory == size_t{19});
  CHECK(second.steps.size() == 2);
  CHECK(second.peak == Levels{Bytes::MiB(30), Bytes::MiB(31), Bytes::MiB(40)});

  const Peak setup = Replay(w.timeline(), 20, {}, Bytes::MiB(40));
  CHECK(setup.out_of_memory == size_t{1});
  CHECK(setup.steps.empty());
  CHECK(setup.peak == Levels{Bytes::MiB(4), Bytes::MiB(4), Bytes::MiB(20)});
}

TEST_CASE("an empty timeline") {
  const Peak peak = Replay(Timeline{}, 1, {}, Bytes::MiB(1));
  CHECK(peak.peak == Levels{});
  CHECK(peak.steps.empty());
  CHECK(!peak.out_of_memory);
}

}  // namespace
}  // namespace vramplan
