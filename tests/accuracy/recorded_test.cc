// Accuracy is a test: models that no rule had seen (tests/data/facts), asked through the Python module. Their files hold
// what it recorded (docs/facts.md), nothing of an export.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/support/asked.h"
#include "tests/support/expectation.h"
#include "tests/support/packed_models.h"
#include "tests/support/sanitized.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr int kExactPercent = 85, kWithinOnePercent = 95;  // of all rows; a renewed file does not move them

// The requested peak that vramplan says; 0: it refuses.
int64_t RequestedOf(const std::string& file, const Row& row, const std::string& loss) {
  const Result<Estimate> estimate = Asked(file, row, loss);
  return estimate.ok() ? estimate->peak.peak.requested.count() : 0;
}

struct Shares {
  int rows = 0, exact = 0, tenth = 0, whole = 0;  // equal; within 0.1 %; within 1 %
};

std::string TableOf(const std::map<std::string, Shares>& shares, size_t models) {
  std::string text = std::to_string(models) + " models, requested peak against PyTorch's own counters\n\n" +
                     "rows               number    exact  within 0.1 %  within 1 %\n";
  for (const auto& [name, of] : shares) {
    const auto percent = [&](int count) { return 100.0 * count / of.rows; };
    char line[128];
    std::snprintf(line, sizeof line, "%-18s %6d  %5.1f %%       %5.1f %%     %5.1f %%\n", name.c_str(), of.rows,
                  percent(of.exact), percent(of.tenth), percent(of.whole));
    text += line;
  }
  return text;
}

}  // namespace

TEST_CASE("accuracy: recorded models that no rule had seen") {
  constexpr size_t kEveryModel = EveryNth(16);
  const std::string folder = DataFolder() + "/facts";
  const std::vector<Row> rows = ReadCsv(folder + "/truth.csv");
  std::map<std::string, std::string> losses;  // in inference too the target is on the card
  for (const Row& row : rows) {
    if (!row.at("loss").empty()) losses[row.at("model")] = row.at("loss");
  }
  Expectation expectation("recorded");
  std::map<std::string, Shares> shares;
  PackedModels files(folder + "/models");
  std::map<std::string, size_t> models;
  for (const Row& row : rows) {
    const size_t number = models.emplace(row.at("model"), models.size()).first->second;
    if (number % kEveryModel != 0) continue;
    const std::string name = row.at("model") + "." + row.at("mode") + ".onnx";
    const std::string* const file = files.PathOf(name);  // null where nothing takes the model: refused
    const int64_t truth = Count(row, "requested");
    const int64_t ours = file != nullptr ? RequestedOf(*file, row, losses[row.at("model")]) : 0;
    const double error = std::abs(static_cast<double>(ours) / static_cast<double>(truth) - 1);
    for (const std::string& of : {std::string("all"), row.at("mode"), row.at("mode") + " " + row.at("precision")}) {
      Shares& share = shares[of];
      ++share.rows;
      share.exact += ours == truth ? 1 : 0;
      share.tenth += error <= 0.001 ? 1 : 0;
      share.whole += error <= 0.01 ? 1 : 0;
    }
    expectation.Add(name + " batch " + row.at("batch") + ", " + row.at("precision"), {{"requested", truth, ours}});
  }
  const std::string table = TableOf(shares, models.size());
  MESSAGE(table);
  expectation.Check(kEveryModel == 1);
  if (kEveryModel == 1) CheckWhole("recorded-summary", table);
  const Shares& all = shares["all"];
  CHECK(all.rows > 10);
  CHECK(100 * all.exact >= kExactPercent * all.rows);
  CHECK(100 * all.whole >= kWithinOnePercent * all.rows);
}

TEST_CASE("accuracy: functions of one's own, checkpoints, losses and what modules keep, to the byte") {
  const std::string folder = DataFolder() + "/facts";
  const std::vector<Row> rows = ReadCsv(folder + "/functions.csv");
  CHECK(rows.size() == 124);
  PackedModels files(folder + "/models");
  for (const Row& row : rows) {
    const std::string name = row.at("model") + "." + row.at("mode") + ".onnx";
    CAPTURE(name + " batch " + row.at("batch") + ", " + row.at("precision"));
    const std::string* const file = files.PathOf(name);
    REQUIRE(file != nullptr);
    CHECK(RequestedOf(*file, row, row.at("loss")) == Count(row, "requested"));
  }
}

}  // namespace vramplan::testing
