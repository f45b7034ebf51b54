// Reserved bytes against device memory that others measured on real cards (RTX 3060, RTX 4060; truth/xmem.md beside
// the repository): convolutional networks, fp32, cuDNN free to choose. Prints ours / truth per model. The likely value
// has no constant at all. The band is scored twice: as it ships, and with the constants that the other models alone
// give, so that nothing is fitted on the model that it scores.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "planner/report/device_band.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

struct Measured {
  std::string model;
  double truth = 0, ours = 0;
  double high_workspaces = 0;  // reserved with workspaces at their high end
  double low = 0, high = 0;    // the band as it ships
  double Error() const { return std::fabs(ours / truth - 1); }
};

TrainingSpec SpecOfRun(const Row& row) {
  static const std::map<std::string, Optimizer> kOptimizers = {{"SGD", Optimizer::kSgd},
                                                               {"Adam", Optimizer::kAdam},
                                                               {"AdamW", Optimizer::kAdamW},
                                                               {"RMSprop", Optimizer::kRmsprop},
                                                               {"Adagrad", Optimizer::kAdagrad}};
  TrainingSpec spec;
  spec.optimizer = kOptimizers.at(row.at("optimizer"));
  spec.weight_decay = DefaultWeightDecay(spec.optimizer);
  spec.framework = {2, 6};  // xmem.md: torch 2.6.0
  const bool rtx3060 = row.at("gpu_name").ends_with("3060");
  spec.capability = rtx3060 ? Capability{8, 6} : Capability{8, 9};
  spec.multiprocessors = rtx3060 ? 28 : 24;
  const std::string& mode = row.at("zero_grad_mode");  // blank: as 0 or 2 (xmem.md, corrections)
  spec.zero_grad = mode == "1" ? ZeroGrad::kAfterForward : mode == "2" ? ZeroGrad::kEnd : ZeroGrad::kStart;
  return spec;
}

// Reserved within the card, which gives its cache back where it must.
Bytes Reserved(const Layers& layers, const TrainingSpec& spec, int64_t batch, Bytes total) {
  Notes notes;
  const Result<Timeline> timeline = Schedule(layers, spec, batch, &notes);
  REQUIRE(timeline.ok());
  AllocatorConfig config;
  config.device_total = total;
  const Bytes capacity = total - ContextOf(spec.capability, spec.framework).likely;
  const Peak peak = Replay(*timeline, batch, config, capacity);
  return peak.out_of_memory ? Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).peak.reserved
                            : peak.peak.reserved;
}

std::vector<Measured> Measure(const std::string& shared) {
  std::vector<Measured> all;
  std::map<std::string, Layers> graphs;
  for (const Row& row : ReadCsv(shared + "/truth/xmem-dev.csv")) {
    if (row.at("family") != "cnn" || row.at("real_oom") != "false") continue;
    const std::string& model = row.at("graph");
    if (graphs.count(model) == 0) {
      std::string path = shared + "/zoo/" + model + ".ts-train.onnx";
      if (!std::filesystem::exists(path)) path = shared + "/zoo/" + model + ".dynamo-train.onnx";
      const Result<Layers> layers = LayersOf(path, "");
      REQUIRE_MESSAGE(layers.ok(), path);
      graphs.emplace(model, *layers);
    }
    const Layers& layers = graphs.at(model);
    const TrainingSpec spec = SpecOfRun(row);
    const Bytes total = Bytes::Of(Count(row, "total_gpu_memory_bytes"));
    const Bytes ours = Reserved(layers, spec, Count(row, "batch"), total);
    const Bytes high = Reserved(layers, AtHighWorkspaces(spec), Count(row, "batch"), total);
    const Band band = BandOf(ours, {CudnnChooses(layers, spec), high}, GivenContext(Bytes())).device();
    const auto real = [](Bytes bytes) { return static_cast<double>(bytes.count()); };
    all.push_back({model, static_cast<double>(Count(row, "ground_bytes")), real(ours), real(std::max(ours, high)),
                   real(band.low), real(band.high)});
  }
  return all;
}

double Quantile(std::vector<double> values, double at) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[static_cast<size_t>(std::lround(at * static_cast<double>(values.size() - 1)))];
}

// The rule that gave the constants of planner/report/device_band.cc: of all models with enough runs but one, the
// outermost decile of measured / ours - 1.
struct Ends {
  double below = 0, above = 0;
};
Ends EndsWithout(const std::string& model, const std::vector<Measured>& rows) {
  std::map<std::string, std::vector<double>> residuals;
  for (const Measured& row : rows) {
    if (row.model != model) residuals[row.model].push_back(row.truth / row.ours - 1);
  }
  Ends ends;
  for (const auto& [name, values] : residuals) {
    if (values.size() < 5) continue;
    ends.below = std::min(ends.below, Quantile(values, 0.1));
    ends.above = std::max(ends.above, Quantile(values, 0.9));
  }
  return ends;
}

struct Score {
  size_t rows = 0, far = 0, held = 0, held_by_others = 0;
  std::vector<double> errors;
  double width = 0;  // of the shipped band above ours, summed
  void Print(const std::string& name) const {
    std::printf(
        "%-24s %4zu  median %5.2f %%  worst %6.2f %%  off by > 10 %%: %zu  in the band: %zu  "
        "(by the other models: %zu)  high end +%.1f %%\n",
        name.c_str(), rows, 100 * Quantile(errors, 0.5), 100 * Quantile(errors, 1), far, held, held_by_others,
        100 * width / static_cast<double>(rows));
  }
};

}  // namespace

TEST_CASE("accuracy: reserved bytes on real cards, and the band of cuDNN's workspaces") {
#ifndef __SANITIZE_ADDRESS__
  if (!SharedFolder() || !std::filesystem::exists(*SharedFolder() + "/truth/xmem-dev.csv")) return;
  const std::vector<Measured> rows = Measure(*SharedFolder());
  REQUIRE(rows.size() > 100);
  std::map<std::string, Score> scores;
  Score sum;
  for (const Measured& row : rows) {
    const Ends others = EndsWithout(row.model, rows);
    const double low = row.ours * (1 + others.below);
    const double high = std::max(row.high_workspaces, row.ours * (1 + others.above));
    for (Score* score : {&scores[row.model], &sum}) {
      ++score->rows;
      score->errors.push_back(row.Error());
      score->far += row.Error() > 0.10;
      score->held += row.low <= row.truth && row.truth <= row.high;
      score->held_by_others += low <= row.truth && row.truth <= high;
      score->width += row.high / row.ours - 1;
    }
  }
  for (const auto& [model, score] : scores) score.Print(model);
  sum.Print("all");
  const auto share = [&](size_t part) { return static_cast<double>(part) / static_cast<double>(sum.rows); };
  CHECK(Quantile(sum.errors, 0.5) <= 0.017);
  CHECK(share(sum.far) <= 0.05);
  CHECK(share(sum.held) >= 0.90);
  CHECK(share(sum.held_by_others) >= 0.90);
#endif
}

}  // namespace vramplan::testing
