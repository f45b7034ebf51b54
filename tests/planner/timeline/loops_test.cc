// What a script puts around the step, and the optimizers of other libraries, on whole models: every row of
// tests/data/truth/loops.csv to the byte, requested level, three steps (measured, PyTorch 2.10).
#include <doctest/doctest.h>

#include "planner/allocator/replay.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

TrainingSpec SpecOfLoop(const Row& row) {
  TrainingSpec spec;
  spec.framework = {2, 10};
  spec.capability = ParseCapability(row.at("capability")).value();
  spec.multiprocessors = spec.capability == Capability{7, 5} ? 40 : 108;
  spec.cudnn_workspace = Bytes();
  spec.loss = Loss::kCrossEntropy;
  spec.precision = ParsePrecision(row.at("precision")).value();
  spec.optimizer = ParseOptimizer(row.at("optimizer")).value();
  spec.optimizer_impl = ParseOptimizerImpl(row.at("optimizer_impl")).value();
  spec.weight_decay = DefaultWeightDecay(spec.optimizer);
  spec.accumulate = static_cast<int>(Count(row, "accumulate"));
  spec.clip_grad_norm = static_cast<double>(Count(row, "clip_grad_norm"));
  spec.zero_grad = ParseZeroGrad(row.at("zero_grad")).value();
  spec.set_to_none = row.at("set_to_none") == "on";
  spec.ema = ParseEma(row.at("ema")).value();
  return spec;
}

std::string Text(const Row& row) {
  std::string text;
  for (const char* column : {"model", "precision", "optimizer", "optimizer_impl", "clip_grad_norm", "ema", "accumulate",
                             "zero_grad", "set_to_none"})
    text += row.at(column) + " ";
  return text;
}

TEST_CASE("loops and optimizers on whole models, to the byte") {
  std::map<std::string, Result<Layers>> graphs;
  const std::vector<Row> rows = ReadCsv(DataFolder() + "/truth/loops.csv");
  REQUIRE(rows.size() > 100);
  for (const Row& row : rows) {
    const std::string path = DataFolder() + "/zoo/" + row.at("model") + ".ts-train.onnx";
    if (graphs.count(path) == 0) graphs.emplace(path, LayersOf(path, row.at("dims")));
    const Result<Layers>& layers = graphs.at(path);
    REQUIRE(layers.ok());
    CAPTURE(Text(row));
    const int64_t batch = Count(row, "batch");
    const auto timeline = Schedule(*layers, SpecOfLoop(row), batch, nullptr);
    REQUIRE(timeline.ok());
    for (const StepPeak& step : Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps) {
      const std::string k = std::to_string(step.step);
      CAPTURE(k);
      CHECK(step.peak.requested.count() == Count(row, "step" + k));
      CHECK(step.after_forward.count() == Count(row, "after_forward" + k));
      CHECK(step.after_backward.count() == Count(row, "after_backward" + k));
    }
  }
}

}  // namespace
}  // namespace vramplan::testing
