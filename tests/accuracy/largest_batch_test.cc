// Accuracy is a test: the largest batch that FindLargestBatch says fits a capacity, on both exports, against the one at
// which three steps of real PyTorch ran and the next failed (truth/largest-batch.csv, release and retry included).
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "planner/solver/batch_search.h"
#include "planner/timeline/timeline.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

struct Searched {
  std::string graph, precision;
  int64_t ours = 0, truth = 0;
  // Within 1 %, or by one where that is less than a sample.
  int64_t Slack() const { return std::max<int64_t>(1, truth / 100); }
};

}  // namespace

TEST_CASE("accuracy: the largest batch that trains") {
  const std::string shared = SharedFolder().value_or(DataFolder());
  const char* only = std::getenv("VRAMPLAN_ACCURACY");
  std::vector<Searched> all;
  for (Row row : ReadCsv(shared + "/truth/largest-batch.csv")) {
    if (Count(row, "largest_batch") <= 0 || !row.at("remark").empty()) continue;
    if (only != nullptr && row.at("model") != only) continue;
    row["mode"] = "train";
    for (const char* variant : {"ts-train", "dynamo-train"}) {
      const std::string graph = row.at("model") + "." + variant;
      const std::string path = shared + "/zoo/" + graph + ".onnx";
      if (!std::filesystem::exists(path)) continue;
      const auto layers = LayersOf(path, row.at("dims"));
      REQUIRE_MESSAGE(layers, graph);
      const TrainingSpec spec = SpecOf(row).value();
      const auto found = FindLargestBatch([&](int64_t batch) { return Schedule(*layers, spec, batch, nullptr); },
                                          *layers, AllocatorConfig(), Bytes::Of(Count(row, "capacity_bytes")));
      REQUIRE_MESSAGE(found, graph);
      all.push_back({graph, row.at("precision"), found->largest_batch, Count(row, "largest_batch")});
      const Searched& one = all.back();
      std::printf("%-34s %-9s %6lld  truth %6lld %s\n", one.graph.c_str(), one.precision.c_str(),
                  static_cast<long long>(one.ours), static_cast<long long>(one.truth),
                  one.ours == one.truth                ? ""
                  : one.ours > one.truth + one.Slack() ? "too large"
                                                       : "other");
    }
  }
  if (all.empty()) return;
  const auto share = [&](auto is_good) {
    return static_cast<double>(std::count_if(all.begin(), all.end(), is_good)) / static_cast<double>(all.size());
  };
  const double exact = share([](const Searched& s) { return s.ours == s.truth; });
  const double near = share([](const Searched& s) { return std::llabs(s.ours - s.truth) <= s.Slack(); });
  std::printf("%zu searches: exact %.1f %%, within 1 %% (or 1) %.1f %%\n", all.size(), 100 * exact, 100 * near);
  CHECK(exact >= 0.9);
  CHECK(near >= 0.95);
  for (const Searched& s : all) CHECK_MESSAGE(100 * s.ours <= 101 * s.truth, s.graph << " " << s.precision);
}

}  // namespace vramplan::testing
