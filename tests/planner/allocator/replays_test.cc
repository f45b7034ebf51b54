#include "planner/allocator/replays.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/dice.h"

namespace vramplan::testing {
namespace {

// A step of blocks of many sizes, some of which grow with the batch, that live for a while.
Timeline StepOfManyBlocks(Dice* dice) {
  Timeline timeline;
  timeline.steps = 1;
  std::vector<BlockId> live;
  const auto add = [&](EventKind kind, BlockId block) {
    timeline.events.push_back({kind, Phase::kForward, Category::kActivations, 1, block});
  };
  for (int i = 0; i < 60; ++i) {
    if (live.size() > 8 || (!live.empty() && dice->OneIn(3))) {
      const auto at = static_cast<size_t>(dice->Between(0, static_cast<int>(live.size()) - 1));
      add(EventKind::kFree, live[at]);
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      continue;
    }
    const Dim bytes = Dim::Polynomial(dice->Between(0, 9'000'000), dice->Between(1, 3'000'000), 0);
    timeline.blocks.push_back({.bytes = SizeExpr::Of(DType::kUint8, bytes), .category = Category::kActivations});
    live.push_back(BlockId{static_cast<int32_t>(timeline.blocks.size()) - 1});
    add(EventKind::kAllocate, live.back());
  }
  return timeline;
}

TEST_CASE("replays: what follows from earlier ones is what a replay says") {
  std::vector<AllocatorConfig> configs(4);
  configs[1].expandable_segments = true;
  configs[2].per_process_memory_fraction = 0.9;
  configs[2].garbage_collection_threshold = 0.5;
  configs[2].device_total = Bytes::MiB(200);
  configs[3].max_split_size = Bytes::MiB(20);
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Dice dice(seed);
    const auto step = std::make_shared<const Timeline>(StepOfManyBlocks(&dice));
    Replays replays;
    for (int i = 0; i < 60; ++i) {
      const AllocatorConfig& config = configs[static_cast<size_t>(dice.Between(0, 3))];
      const int64_t batch = dice.Between(1, 3);
      const Bytes capacity = dice.OneIn(10) ? Bytes::Max() : Bytes::MiB(dice.Between(20, 200));
      const Peak expected = Replay(*step, batch, config, capacity);
      const ReplayEnd end = EndOfReplay(*step, batch, config, capacity);
      CHECK(end.fits == !expected.out_of_memory);
      CHECK(end.retries == expected.retries);
      CHECK(end.most_reserved == expected.most_reserved);
      if (i % 3 == 0) {
        const Peak told = replays.Of(step, batch, config, capacity);
        CHECK(told.peak == expected.peak);
        CHECK(told.out_of_memory == expected.out_of_memory);
      } else if (i % 3 == 1) {
        const std::optional<Peak> told = replays.Within(step, batch, config, capacity);
        REQUIRE(told.has_value() == !expected.out_of_memory);
        if (told) CHECK(told->peak == expected.peak);
      } else {
        CHECK(replays.Fits(step, batch, config, capacity) == !expected.out_of_memory);
      }
    }
  }
}

// As the points of a chart ask: each another batch of one step, at once.
TEST_CASE("replays: several threads ask about one step") {
  constexpr int kThreads = 8, kBatches = 400;
  Dice dice(1);
  const auto step = std::make_shared<const Timeline>(StepOfManyBlocks(&dice));
  const AllocatorConfig config;
  const Bytes capacity = Bytes::MiB(200);
  Replays replays;
  std::vector<std::vector<int64_t>> wrong(kThreads);  // doctest counts on one thread alone
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      for (int64_t batch = 1 + t; batch <= kBatches; batch += kThreads / 2)
        if (replays.Fits(step, batch, config, capacity) ==
            Replay(*step, batch, config, capacity).out_of_memory.has_value())
          wrong[static_cast<size_t>(t)].push_back(batch);
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::vector<int64_t>& of_thread : wrong) CHECK(of_thread.empty());
}

// Another step may lie where one lay that nobody holds any more.
TEST_CASE("replays: a step that is gone tells nothing of the next one") {
  Replays replays;
  for (const int64_t mib : {5, 50, 5, 50}) {
    auto timeline = std::make_shared<Timeline>();
    timeline->steps = 1;
    timeline->blocks.push_back({.bytes = SizeExpr::Constant(Bytes::MiB(mib))});
    timeline->events.push_back({EventKind::kAllocate, Phase::kForward, Category::kActivations, 1, BlockId{0}});
    const Replays::Step step = std::move(timeline);
    CHECK(replays.Fits(step, 1, {}, Bytes::MiB(20)) == (mib == 5));
  }
}

}  // namespace
}  // namespace vramplan::testing
