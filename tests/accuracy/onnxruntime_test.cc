// Bytes of ONNX Runtime's arena against what its CUDA provider (1.31) took on a stand-in for the CUDA libraries, where
// convolutions have no workspace: after the session was made, after the first and after the second run. With
// kSameAsRequested the arena is a matter of the graph alone; with kNextPowerOfTwo also of the order of the
// initializers, which changes from process to process, so that there the band is scored.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "planner/runtimes/runtime.h"
#include "tests/support/expectation.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

struct Scores {
  std::vector<double> errors;  // of the second run
  int exact = 0, inside = 0;
  int exact_first = 0;  // after the first run
};

std::string DimsOf(const std::string& model) {
  const bool tokens = model.starts_with("bert") || model.starts_with("gpt2") || model.starts_with("llama") ||
                      model.starts_with("textcnn") || model.starts_with("transformer_encoder");
  return tokens ? "sequence=128" : "";
}

Scores Score(const std::string& strategy) {
  Scores scores;
  Expectation expectation("onnxruntime-" + strategy);
  std::map<std::string, Layers> graphs;
  for (const Row& row : ReadCsv(DataFolder() + "/onnxruntime/arena.csv")) {
    if (row.at("strategy") != strategy) continue;
    const std::string& model = row.at("model");
    if (graphs.count(model) == 0) {
      const std::string path = DataFolder() + "/zoo/" + model + ".onnx";
      Result<Layers> layers = LayersOf(path, DimsOf(model), nullptr, Runtime::kOnnxRuntime);
      if (!layers.ok()) layers = LayersOf(path, "", nullptr, Runtime::kOnnxRuntime);
      REQUIRE_MESSAGE(layers.ok(), path);
      graphs.emplace(model, *layers);
    }
    TrainingSpec spec;
    spec.framework.runtime = Runtime::kOnnxRuntime;
    spec.mode = Mode::kInfer;
    spec.cudnn_workspace = Bytes();
    spec.ort.growth = ParseArenaGrowth(strategy).value();
    const int64_t batch = Count(row, "batch");
    Notes notes;
    const Result<Timeline> timeline = ScheduleFor(graphs.at(model), spec, batch, &notes);
    REQUIRE(timeline.ok());
    AllocatorConfig config;
    config.bfc = ArenaOf(spec);
    const Peak peak = Replay(*timeline, batch, config, Bytes::Max());
    const Bytes ours = peak.peak.reserved, truth = Bytes::Of(Count(row, "run2"));
    const ReservedRange range = ReservedAround(*timeline, spec, batch, config, ours);
    const Bytes ours_first = peak.steps[0].peak.reserved, truth_first = Bytes::Of(Count(row, "run1"));
    const double error = static_cast<double>(ours.count()) / static_cast<double>(truth.count()) - 1;
    scores.errors.push_back(std::fabs(error));
    scores.exact += ours == truth;
    scores.exact_first += ours_first == truth_first;
    scores.inside += range.low <= truth && truth <= range.high;
    expectation.Add(model + " batch " + row.at("batch"), {{"run 1", truth_first.count(), ours_first.count()},
                                                          {"run 2", truth.count(), ours.count()},
                                                          {"low end", truth.count(), range.low.count()},
                                                          {"high end", truth.count(), range.high.count()}});
  }
  expectation.Check();
  std::sort(scores.errors.begin(), scores.errors.end());
  return scores;
}

std::string Line(const char* strategy, const Scores& scores) {
  char text[160];
  std::snprintf(text, sizeof text, "%-18s %2zu runs  exact %2d  median %.3f %%  worst %5.2f %%  in the band %2d\n",
                strategy, scores.errors.size(), scores.exact, 100 * scores.errors[scores.errors.size() / 2],
                100 * scores.errors.back(), scores.inside);
  return text;
}

TEST_CASE("accuracy: ONNX Runtime, both ways in which its arena grows") {
  const Scores as_requested = Score("kSameAsRequested"), doubling = Score("kNextPowerOfTwo");
  CheckWhole("onnxruntime-summary", "Bytes of the CUDA provider's arena after the second run.\n\n" +
                                        Line("kSameAsRequested", as_requested) + Line("kNextPowerOfTwo", doubling));
  REQUIRE(as_requested.errors.size() == 54);
  CHECK(as_requested.exact >= 33);
  CHECK(as_requested.exact_first >= 27);
  CHECK(as_requested.errors[as_requested.errors.size() / 2] <= 0.0005);
  CHECK(as_requested.errors.back() <= 0.032);
  CHECK(as_requested.inside == 54);
  REQUIRE(doubling.errors.size() == 54);
  CHECK(doubling.inside == 54);
}

}  // namespace
}  // namespace vramplan::testing
