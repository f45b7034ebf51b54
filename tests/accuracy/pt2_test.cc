// Models of the zoo as torch.export.save wrote them (tests/data/pt2): the rows of truth/pytorch.csv under the PyTorch
// that exported them. What is not exact is listed in tests/accuracy/expected/pt2.txt, and expected/pt2-summary.txt has a
// line a model, beside the dynamo exporter's ONNX file of the same rows.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "planner/allocator/replay.h"
#include "tests/support/asked.h"
#include "tests/support/expectation.h"
#include "tests/support/sanitized.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

struct Score {
  int rows = 0, exact = 0;
  double worst = 0;
  void Add(double error) {
    ++rows;
    exact += error == 0 ? 1 : 0;
    worst = std::max(worst, error);
  }
};

TEST_CASE("accuracy: .pt2 files") {
  std::vector<std::string> models;
  for (const auto& entry : std::filesystem::directory_iterator(DataFolder() + "/pt2"))
    models.push_back(entry.path().stem().string());
  std::ranges::sort(models);
  REQUIRE_FALSE(models.empty());
  Expectation expected("pt2");
  std::string summary = "model                  rows     .pt2 exact, worst       ONNX exact, worst\n";
  Score all, all_onnx;
  const std::vector<Row> rows = ReadCsv(DataFolder() + "/truth/pytorch.csv");
  constexpr size_t kEvery = EveryNth(4);
  size_t index = 0;
  for (const std::string& model : models) {
    if (index++ % kEvery != 0) continue;
    Score program, onnx;
    for (const Row& row : rows) {
      if (row.at("model") != model || row.at("framework") != "pytorch@2.10" || row.at("capability") != "7.5") continue;
      const auto spec = SpecOf(row);
      REQUIRE(spec.has_value());
      for (const bool is_program : {true, false}) {
        const std::string file = is_program ? "/pt2/" + model + ".pt2" : "/zoo/" + model + ".dynamo-train.onnx";
        const Result<Layers> layers = LayersOf(DataFolder() + file, row.at("dims"));
        REQUIRE_MESSAGE(layers.ok(), file);
        Notes notes;
        const int64_t batch = Count(row, "batch");
        const auto timeline = Schedule(*layers, *spec, batch, &notes);
        REQUIRE_MESSAGE(timeline.ok(), file);
        CHECK_FALSE_MESSAGE(notes.Has("unknown-operator"), file);
        const Peak peak = Replay(*timeline, batch, {}, Bytes::Max());
        std::vector<Measured> values;
        double worst = 0;
        for (size_t step = 0; step < peak.steps.size() && step < 3; ++step) {
          const std::string column = "step" + std::to_string(step + 1) + "_requested";
          const int64_t truth = Count(row, column), ours = peak.steps[step].peak.requested.count();
          if (truth < 0) continue;
          values.push_back({"step " + std::to_string(step + 1) + " requested", truth, ours});
          worst = std::max(worst, std::abs(values.back().Error()));
        }
        (is_program ? program : onnx).Add(worst);
        (is_program ? all : all_onnx).Add(worst);
        if (!is_program) continue;
        expected.Add(model + " batch " + row.at("batch") + " " + row.at("dims") + ", " + row.at("precision") + " " +
                         (row.at("mode") == "infer" ? "infer" : row.at("optimizer") + "/" + row.at("optimizer_impl")),
                     values);
      }
    }
    char line[128];
    std::snprintf(line, sizeof line, "%-20s %6d %10d, %8.3f %% %12d, %8.3f %%\n", model.c_str(), program.rows,
                  program.exact, 100 * program.worst, onnx.exact, 100 * onnx.worst);
    summary += line;
  }
  char line[128];
  std::snprintf(line, sizeof line, "%-20s %6d %10d, %8.3f %% %12d, %8.3f %%\n", "all", all.rows, all.exact,
                100 * all.worst, all_onnx.exact, 100 * all_onnx.worst);
  expected.Check(kEvery == 1);
  if (kEvery == 1) CheckWhole("pt2-summary", summary + line);
}

// tests/data/pt2_versions: one model, written by torch.export.save of two versions, whose layouts differ. The truth is that
// of PyTorch 2.10 (fp32, Adam foreach, cross-entropy) in all three counters.
TEST_CASE("pt2: files of PyTorch 2.6 and 2.10 are answered alike") {
  const Row row = {{"mode", "train"}, {"batch", "16"}, {"precision", "fp32"}, {"dims", ""}};
  for (const char* version : {"2.6", "2.10"}) {
    CAPTURE(version);
    const auto asked = Asked(DataFolder() + "/pt2_versions/net-" + version + ".pt2", row, "cross-entropy");
    REQUIRE(asked.ok());
    CHECK(asked->peak.peak.requested.count() == 40'938'168);
    CHECK(asked->peak.peak.allocated.count() == 42'920'960);
    CHECK(asked->peak.peak.reserved.count() == 56'623'104);
  }
}

}  // namespace
}  // namespace vramplan::testing
