// Accuracy is a test: our peaks against PyTorch's own counters, row by row of truth/pytorch.csv, on both exports of
// each model. Prints ours / truth / error; what is held at the end is what has been reached, so that a rule which makes
// one model worse is noticed.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "planner/allocator/replay.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

double Relative(Bytes ours, int64_t truth) {
  return static_cast<double>(ours.count() - truth) / static_cast<double>(truth);
}

// Errors of one level over all rows.
class Level {
 public:
  explicit Level(const char* name) : name_(name) {}
  void Add(Bytes ours, int64_t truth) { errors_.push_back(std::fabs(Relative(ours, truth))); }
  double At(double quantile) {
    std::sort(errors_.begin(), errors_.end());
    return errors_.empty() ? 0 : errors_[static_cast<size_t>(quantile * static_cast<double>(errors_.size() - 1))];
  }
  double Exact() const {
    const auto exact = std::count(errors_.begin(), errors_.end(), 0.0);
    return static_cast<double>(exact) / static_cast<double>(std::max<size_t>(errors_.size(), 1));
  }
  size_t size() const { return errors_.size(); }
  void Print() {
    std::printf("%-16s %5zu values  exact %5.1f %%  median %6.3f %%  p95 %6.3f %%  worst %6.3f %%\n", name_, size(),
                100 * Exact(), 100 * At(0.5), 100 * At(0.95), 100 * At(1));
  }

 private:
  const char* name_;
  std::vector<double> errors_;
};

// Every row where the full tables stand beside the repository; the repository's own part elsewhere, and under
// sanitizers, which are slow. VRAMPLAN_ACCURACY=MODEL looks at one model.
struct Selection {
  std::string zoo = DataFolder() + "/zoo", table = DataFolder() + "/truth/pytorch.csv", model;
  bool full = false;
};

Selection Select() {
  Selection selection;
  if (const char* model = std::getenv("VRAMPLAN_ACCURACY")) selection.model = model;
#ifndef __SANITIZE_ADDRESS__
  if (SharedFolder()) {
    selection.zoo = *SharedFolder() + "/zoo";
    selection.table = *SharedFolder() + "/truth/pytorch.csv";
    selection.full = true;
  }
#endif
  return selection;
}

class Comparison {
 public:
  explicit Comparison(const Selection& selection) : selection_(selection) {
    std::printf("%-20s %-12s %5s %-32s %4s %4s %13s %13s %9s %9s %9s %9s %9s  phase ours/truth\n", "model", "graph",
                "batch", "configuration", "cc", "step", "requested", "truth", "error", "forward", "backward",
                "allocated", "reserved");
  }

  void Compare(const Row& row, const TrainingSpec& spec) {
    for (const char* variant : {"ts-train", "dynamo-train"}) {
      const std::string path = selection_.zoo + "/" + row.at("model") + "." + variant + ".onnx";
      if (std::filesystem::exists(path)) CompareGraph(row, spec, path, variant);
    }
  }

  Level requested{"requested"}, allocated{"allocated"}, reserved{"reserved"}, after_forward{"after forward"},
      after_backward{"after backward"};

 private:
  void CompareGraph(const Row& row, const TrainingSpec& spec, const std::string& path, const char* variant) {
    const std::string key = path + row.at("dims");
    if (graphs_.count(key) == 0) graphs_.emplace(key, LayersOf(path, row.at("dims")));
    const Result<Layers>& layers = graphs_.at(key);
    REQUIRE_MESSAGE(layers.ok(), path);
    const int64_t batch = Count(row, "batch");
    Notes notes;
    const auto timeline = Schedule(*layers, spec, batch, &notes);
    REQUIRE_MESSAGE(timeline.ok(), path);
    CHECK_FALSE_MESSAGE(notes.Has("unknown-operator"), path);
    for (const StepPeak& step : Replay(*timeline, batch, AllocatorConfig(), Bytes::Max()).steps) {
      const std::string k = "step" + std::to_string(step.step) + "_";
      if (Count(row, k + "requested") < 0) continue;
      requested.Add(step.peak.requested, Count(row, k + "requested"));
      allocated.Add(step.peak.allocated, Count(row, k + "allocated"));
      reserved.Add(step.peak.reserved, Count(row, k + "reserved"));
      after_forward.Add(step.after_forward, Count(row, k + "after_forward_requested"));
      if (spec.mode == Mode::kTrain) {
        after_backward.Add(step.after_backward, Count(row, k + "after_backward_requested"));
      }
      Print(row, variant, step, k);
    }
  }

  static void Print(const Row& row, const char* variant, const StepPeak& step, const std::string& k) {
    const std::string run = row.at("mode") == "infer" ? "infer" : row.at("optimizer") + "/" + row.at("optimizer_impl");
    std::string configuration =
        run + " " + row.at("precision") + " " + row.at("framework").substr(8) + " " + row.at("dims");
    if (const auto paths = row.find("checkpoint"); paths != row.end()) {
      configuration += " " + paths->second.substr(0, paths->second.find(' ')) + " +" +
                       std::to_string(std::count(paths->second.begin(), paths->second.end(), ' '));
    }
    std::printf(
        "%-20s %-12s %5s %-32s %4s %4d %13lld %13s %8.3f%% %8.3f%% %8.3f%% %8.3f%% %8.3f%%  %s/%s\n",
        row.at("model").c_str(), variant, row.at("batch").c_str(), configuration.c_str(), row.at("capability").c_str(),
        step.step, static_cast<long long>(step.peak.requested.count()), row.at(k + "requested").c_str(),
        100 * Relative(step.peak.requested, Count(row, k + "requested")),
        100 * Relative(step.after_forward, Count(row, k + "after_forward_requested")),
        row.at("mode") == "infer" ? 0 : 100 * Relative(step.after_backward, Count(row, k + "after_backward_requested")),
        100 * Relative(step.peak.allocated, Count(row, k + "allocated")),
        100 * Relative(step.peak.reserved, Count(row, k + "reserved")), std::string(Name(step.phase)).c_str(),
        row.at(k + "phase").c_str());
  }

  Selection selection_;
  std::map<std::string, Result<Layers>> graphs_;
};

template <typename Wanted>
void CompareRows(Comparison& comparison, const Selection& selection, Wanted wanted) {
  for (const Row& row : ReadCsv(selection.table)) {
    if (!selection.model.empty() && row.at("model") != selection.model) continue;
    if (!selection.full && (row.at("framework") != "pytorch@2.10" || row.at("capability") != "7.5")) continue;
    if (!wanted(row)) continue;
    if (const auto spec = SpecOf(row)) comparison.Compare(row, *spec);
  }
  for (Level* level : {&comparison.requested, &comparison.allocated, &comparison.reserved, &comparison.after_forward,
                       &comparison.after_backward}) {
    level->Print();
  }
}

}  // namespace

TEST_CASE("accuracy: peaks of PyTorch's counters, fp32") {
  const Selection selection = Select();
  Comparison comparison(selection);
  CompareRows(comparison, selection, [](const Row& row) { return row.at("precision") == "fp32"; });
  REQUIRE(comparison.requested.size() > 0);
  if (!selection.model.empty()) return;
  CHECK(comparison.requested.Exact() > 0.95);
  CHECK(comparison.requested.At(0.5) == 0);
  CHECK(comparison.requested.At(0.95) < 0.0001);
  CHECK(comparison.requested.At(1) < 0.006);
  CHECK(comparison.after_forward.At(1) < 0.001);
  CHECK(comparison.after_backward.At(1) < 0.005);
  CHECK(comparison.allocated.At(0.5) == 0);
  CHECK(comparison.allocated.At(0.95) < 0.001);
  CHECK(comparison.allocated.At(1) < 0.006);
  CHECK(comparison.reserved.At(0.5) == 0);
  CHECK(comparison.reserved.At(0.95) < 0.02);
  CHECK(comparison.reserved.At(1) < 0.1);
}

TEST_CASE("accuracy: peaks of PyTorch's counters, half and mixed precision") {
  const Selection selection = Select();
  Comparison comparison(selection);
  CompareRows(comparison, selection, [](const Row& row) { return row.at("precision") != "fp32"; });
  REQUIRE(comparison.requested.size() > 0);
  if (!selection.model.empty()) return;
  CHECK(comparison.requested.Exact() > 0.93);
  CHECK(comparison.requested.At(0.5) == 0);
  CHECK(comparison.requested.At(0.95) < 0.001);
  CHECK(comparison.requested.At(1) < 0.007);
  CHECK(comparison.allocated.At(1) < 0.007);
  CHECK(comparison.reserved.At(0.95) < 0.02);
  CHECK(comparison.reserved.At(1) < 0.1);
}

TEST_CASE("accuracy: peaks of PyTorch's counters, checkpointed modules") {
  Selection selection = Select();
  selection.table = (selection.full ? *SharedFolder() : DataFolder()) + "/truth/checkpoint.csv";
  Comparison comparison(selection);
  CompareRows(comparison, selection, [](const Row&) { return true; });
  REQUIRE(comparison.requested.size() > 0);
  if (!selection.model.empty()) return;
  CHECK(comparison.requested.Exact() > 0.90);
  CHECK(comparison.requested.At(0.95) < 1e-5);
  CHECK(comparison.requested.At(1) < 1e-5);
  CHECK(comparison.reserved.At(1) < 0.01);
  CHECK(comparison.after_forward.At(0.5) == 0);
  CHECK(comparison.after_forward.At(1) < 0.001);
  CHECK(comparison.after_backward.At(1) < 1e-4);
}

TEST_CASE("accuracy: peaks of PyTorch's counters, configurations drawn at random") {
  Selection selection = Select();
  selection.zoo = DataFolder() + "/zoo";
  selection.table = DataFolder() + "/truth/configurations.csv";
#ifndef __SANITIZE_ADDRESS__
  selection.full = true;
#endif
  Comparison comparison(selection);
  CompareRows(comparison, selection, [](const Row&) { return true; });
  REQUIRE(comparison.requested.size() > 0);
  if (!selection.model.empty()) return;
  CHECK(comparison.requested.Exact() > 0.97);
  CHECK(comparison.requested.At(1) < 0.011);
  CHECK(comparison.allocated.At(1) < 0.011);
  CHECK(comparison.reserved.At(1) < 0.01);
}

}  // namespace vramplan::testing
