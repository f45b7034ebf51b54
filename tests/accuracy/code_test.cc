// Accuracy is a test: models whose code decides, where the file carries it: torch.utils.checkpoint in the source lines,
// zeros made in the type of what is added to them, packed projections (truth/code.csv).
#include <doctest/doctest.h>

#include <filesystem>

#include "planner/allocator/replay.h"
#include "planner/timeline/timeline.h"
#include "tests/support/expectation.h"
#include "tests/support/truth.h"

namespace vramplan::testing {

TEST_CASE("accuracy: models whose code decides") {
  constexpr const char* kLevels[] = {"requested", "allocated", "reserved"};
  Expectation expectation("code");
  size_t values = 0;
  for (const Row& row : ReadCsv(DataFolder() + "/truth/code.csv")) {
    const bool traced = row.at("model") == "unet_ckpt";
    const std::string graph = row.at("model") + (traced ? ".dynamo-train" : ".ts-train");
    const auto layers = LayersOf(DataFolder() + "/code/" + graph + ".onnx", row.at("dims"));
    REQUIRE_MESSAGE(layers.ok(), graph);
    CHECK(layers->checkpointed.size() == (traced ? 8 : 0));
    const int64_t batch = Count(row, "batch");
    const auto timeline = Schedule(*layers, SpecOf(row).value(), batch, nullptr);
    REQUIRE_MESSAGE(timeline.ok(), graph);
    std::vector<Measured> measured;
    for (const StepPeak& step : Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps) {
      const Bytes ours[] = {step.peak.requested, step.peak.allocated, step.peak.reserved};
      for (size_t level = 0; level < std::size(kLevels); ++level) {
        const std::string name = "step" + std::to_string(step.step) + "_" + kLevels[level];
        measured.push_back({name, Count(row, name), ours[level].count()});
        if (level == 0) CHECK_MESSAGE(std::abs(measured.back().Error()) < 0.01, graph << " " << name);
        ++values;
      }
    }
    expectation.Add(graph + " batch " + row.at("batch") + ", " + row.at("precision") + " " + row.at("mode") + " " +
                        row.at("optimizer"),
                    measured);
  }
  expectation.Check();
  CHECK(values > 0);
}

}  // namespace vramplan::testing
