// Accuracy is a test: our peaks against PyTorch's own counters, for every fp32 row with the optimizers that are laid
// out, on both exports of each model. Prints the table; the bounds at the end are those of the issue that asked for
// them.
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

struct Errors {
  std::vector<double> all;
  void Add(Bytes ours, int64_t truth) {
    all.push_back(std::fabs(static_cast<double>(ours.count() - truth)) / static_cast<double>(truth));
  }
  double At(double quantile) {
    std::sort(all.begin(), all.end());
    return all.empty() ? 0 : all[static_cast<size_t>(quantile * static_cast<double>(all.size() - 1))];
  }
  size_t Exact() const { return static_cast<size_t>(std::count(all.begin(), all.end(), 0.0)); }
  void Print(const char* name) {
    std::printf("%-24s %5zu values  exact %5.1f %%  median %6.3f %%  p95 %6.3f %%  worst %6.3f %%\n", name, all.size(),
                100.0 * static_cast<double>(Exact()) / static_cast<double>(std::max<size_t>(all.size(), 1)),
                100 * At(0.5), 100 * At(0.95), 100 * At(1));
  }
};

// VRAMPLAN_ACCURACY=full: every row beside the repository; otherwise a part that is quick under sanitizers. Other
// values select models.
struct Selection {
  std::string zoo, table;
  bool full = false;
  std::string only;
};

Selection Select() {
  Selection s{DataFolder() + "/zoo", DataFolder() + "/truth/pytorch.csv.gz", false, ""};
  if (!std::filesystem::exists(s.table)) s.table = DataFolder() + "/truth/pytorch.csv";
  const char* wanted = std::getenv("VRAMPLAN_ACCURACY");
  if (wanted != nullptr && SharedFolder()) {
    s = {*SharedFolder() + "/zoo", *SharedFolder() + "/truth/pytorch.csv", true,
         std::string(wanted) == "full" ? "" : wanted};
  }
  return s;
}

}  // namespace

TEST_CASE("accuracy: peaks of PyTorch's counters, fp32") {
  const Selection selection = Select();
  const std::vector<Row> rows = ReadCsv(selection.table);
  REQUIRE(!rows.empty());
  Errors requested, allocated, reserved, after_forward, after_backward;
  std::map<std::string, Result<Layers>> cache;
  size_t compared = 0;
  std::printf("%-20s %-12s %5s %-28s %4s %-5s %15s %15s %9s %9s %9s\n", "model", "graph", "batch", "configuration",
              "cc", "step", "requested", "truth", "error", "allocated", "reserved");
  for (const Row& row : rows) {
    if (!selection.only.empty() && row.at("model") != selection.only) continue;
    const char* wanted = std::getenv("VRAMPLAN_ACCURACY_PRECISION");
    if (row.at("precision") != (wanted != nullptr ? wanted : "fp32")) continue;
    if (!selection.full && (row.at("framework") != "pytorch@2.10" || row.at("capability") != "7.5")) continue;
    const auto spec = SpecOf(row);
    if (!spec) continue;
    for (const char* variant : {"ts-train", "dynamo-train"}) {
      const std::string path = selection.zoo + "/" + row.at("model") + "." + variant + ".onnx";
      if (!std::filesystem::exists(path)) continue;
      const std::string key = path + row.at("dims");
      if (cache.count(key) == 0) cache.emplace(key, LayersOf(path, row.at("dims")));
      const Result<Layers>& layers = cache.at(key);
      if (!layers) {
        FAIL_CHECK(ToString(layers.error()));
        continue;
      }
      const int64_t batch = Count(row, "batch");
      Notes notes;
      const auto timeline = Schedule(*layers, *spec, batch, &notes);
      if (!timeline) {
        FAIL_CHECK(path << ": " << ToString(timeline.error()));
        continue;
      }
      CHECK_FALSE(notes.Has("unknown-operator"));
      const Peak peak = Replay(*timeline, batch, AllocatorConfig(), Bytes::Max());
      for (const StepPeak& step : peak.steps) {
        const std::string k = "step" + std::to_string(step.step) + "_";
        const int64_t truth = Count(row, k + "requested");
        if (truth < 0) continue;
        ++compared;
        requested.Add(step.peak.requested, truth);
        allocated.Add(step.peak.allocated, Count(row, k + "allocated"));
        reserved.Add(step.peak.reserved, Count(row, k + "reserved"));
        after_forward.Add(step.after_forward, Count(row, k + "after_forward_requested"));
        if (spec->mode == Mode::kTrain)
          after_backward.Add(step.after_backward, Count(row, k + "after_backward_requested"));
        const auto percent = [](Bytes ours, int64_t theirs) {
          return 100.0 * static_cast<double>(ours.count() - theirs) / static_cast<double>(theirs);
        };
        std::printf("%-20s %-12s %5lld %-28s %4s %-5d %15lld %15lld %8.3f%% %8.3f%% %8.3f%% %s/%s\n",
                    row.at("model").c_str(), variant, static_cast<long long>(batch),
                    (row.at("mode") == "infer" ? "infer " + row.at("framework").substr(8) + " " + row.at("dims")
                                               : row.at("optimizer") + "/" + row.at("optimizer_impl") + " " +
                                                     row.at("framework").substr(8) + " " + row.at("dims"))
                        .c_str(),
                    row.at("capability").c_str(), step.step, static_cast<long long>(step.peak.requested.count()),
                    static_cast<long long>(truth), percent(step.peak.requested, truth),
                    percent(step.peak.allocated, Count(row, k + "allocated")),
                    percent(step.peak.reserved, Count(row, k + "reserved")), std::string(Name(step.phase)).c_str(),
                    row.at(k + "phase").c_str());
      }
    }
  }
  REQUIRE(compared > 0);
  requested.Print("requested");
  allocated.Print("allocated");
  reserved.Print("reserved");
  after_forward.Print("after forward");
  after_backward.Print("after backward");
  CHECK(requested.At(0.5) < 0.03);
  CHECK(requested.At(1) < 0.15);
  CHECK(allocated.At(0.5) < 0.03);
  CHECK(allocated.At(1) < 0.15);
}

}  // namespace vramplan::testing
