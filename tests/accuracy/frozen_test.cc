// Accuracy is a test: steps of models that are trained in part, against PyTorch's own counters (truth/frozen.csv), and
// the largest batch that trains so (truth/frozen-largest-batch.csv), on both exports. The column `trainable` has the
// options of the command line, in order: "frozen=*;trainable=fc.*". Adapters (`kind`) are asked without options: their
// names and shapes tell.
#include <doctest/doctest.h>

#include <filesystem>

#include "planner/allocator/replay.h"
#include "planner/solver/batch_search.h"
#include "planner/spec/adapters.h"
#include "planner/timeline/timeline.h"
#include "tests/support/expectation.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

std::vector<TrainedPattern> PatternsOf(const std::string& text) {
  std::vector<TrainedPattern> patterns;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(';', begin), text.size());
    const std::string each = text.substr(begin, end - begin);
    const size_t equals = each.find('=');
    patterns.push_back({each.substr(equals + 1), each.substr(0, equals) == "trainable"});
    begin = end + 1;
  }
  return patterns;
}

std::string PathOf(const Row& row, const std::string& graph) {
  return DataFolder() + (row.at("kind") == "adapter" ? "/adapters/" : "/zoo/") + graph + ".onnx";
}

std::vector<std::string> GraphsOf(const Row& row) {
  std::vector<std::string> graphs;
  for (const char* variant : {"ts-train", "dynamo-train"}) {
    const std::string graph = row.at("model") + "." + variant;
    if (std::filesystem::exists(PathOf(row, graph))) graphs.push_back(graph);
  }
  REQUIRE_MESSAGE(!graphs.empty(), row.at("model"));
  return graphs;
}

// The layers with what is trained decided, as planner/answers/prepare.cc does it.
Layers TrainedInPart(const Row& row, const std::string& graph) {
  Result<Layers> layers = LayersOf(PathOf(row, graph), row.at("dims"));
  REQUIRE_MESSAGE(layers.ok(), graph);
  const bool adapters = row.at("kind") == "adapter";
  Notes notes;
  CHECK_MESSAGE(AssumeFrozenBase({}, &*layers, &notes).patterns.empty() != adapters, graph);
  CHECK(notes.Has("assumed-frozen") == adapters);
  if (!adapters) REQUIRE_MESSAGE(ApplyTrained(PatternsOf(row.at("trainable")), &*layers, nullptr).ok(), graph);
  return *std::move(layers);
}

}  // namespace

TEST_CASE("accuracy: models that are trained in part") {
  constexpr const char* kLevels[] = {"requested", "allocated", "reserved", "after_forward_requested",
                                     "after_backward_requested"};
  Expectation expectation("frozen");
  size_t values = 0, exact = 0;
  for (const Row& row : ReadCsv(DataFolder() + "/truth/frozen.csv")) {
    for (const std::string& graph : GraphsOf(row)) {
      const Layers layers = TrainedInPart(row, graph);
      const int64_t batch = Count(row, "batch");
      const auto timeline = Schedule(layers, SpecOf(row).value(), batch, nullptr);
      REQUIRE_MESSAGE(timeline.ok(), graph);
      std::vector<Measured> measured;
      for (const StepPeak& step : Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps) {
        const Bytes ours[] = {step.peak.requested, step.peak.allocated, step.peak.reserved, step.after_forward,
                              step.after_backward};
        for (size_t level = 0; level < std::size(kLevels); ++level) {
          const std::string name = "step" + std::to_string(step.step) + "_" + kLevels[level];
          measured.push_back({name, Count(row, name), ours[level].count()});
          CHECK_MESSAGE(std::abs(measured.back().Error()) < (level == 2 ? 0.02 : 0.0003), graph << " " << name);
          if (level == 0) exact += measured.back().Error() == 0;
          if (level == 0) ++values;
        }
      }
      expectation.Add(graph + " batch " + row.at("batch") + ", " + row.at("precision") + " " + row.at("optimizer") +
                          ", " + row.at("trainable"),
                      measured);
    }
  }
  expectation.Check();
  REQUIRE(values > 0);
  CHECK(static_cast<double>(exact) >= 0.94 * static_cast<double>(values));
}

TEST_CASE("accuracy: the largest batch of models that are trained in part") {
  size_t searches = 0;
  for (Row row : ReadCsv(DataFolder() + "/truth/frozen-largest-batch.csv")) {
    row["mode"] = "train";
    for (const std::string& graph : GraphsOf(row)) {
      const Layers layers = TrainedInPart(row, graph);
      const TrainingSpec spec = SpecOf(row).value();
      const auto found = FindLargestBatch([&](int64_t batch) { return Schedule(layers, spec, batch, nullptr); }, layers,
                                          AllocatorConfig(), Bytes::Of(Count(row, "capacity_bytes")));
      REQUIRE_MESSAGE(found, graph);
      CHECK_MESSAGE(found->largest_batch == Count(row, "largest_batch"), graph);
      ++searches;
    }
  }
  CHECK(searches > 0);
}

}  // namespace vramplan::testing
