// Accuracy is a test: the steady step's stream of every recorded model, on both exports, against what PyTorch's
// allocator saw. Two streams agree by the multiset of (birth or death, phase, bytes) of their blocks above 64 KiB. One
// event too many moves the slack of a hundred blocks after it; so the table also says on how many bytes they agree by
// tensors, whatever slack their blocks have.
#include "planner/allocator/stream.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "planner/allocator/trace_diff.h"
#include "tests/support/expectation.h"
#include "tests/support/sanitized.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr double kWanted = 0.90;
constexpr size_t kEvery = EveryNth(4);

struct Compared {
  std::string graph;
  double share = 0;    // the worse of births and deaths
  double tensors = 0;  // whatever the slack
  TraceComparison comparison;
};

struct Recorded {
  std::string model, path;
  int64_t batch = 1;
};

// "MODEL.bBATCH.adam-foreach.csv.gz"
std::vector<Recorded> RecordedIn(const std::string& folder) {
  std::vector<Recorded> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const size_t dot = name.find(".b"), end = name.find('.', dot + 1);
    if (dot == std::string::npos || end == std::string::npos) continue;
    all.push_back({name.substr(0, dot), entry.path().string(), std::stoll(name.substr(dot + 2, end - dot - 2))});
  }
  std::sort(all.begin(), all.end(), [](const Recorded& a, const Recorded& b) { return a.model < b.model; });
  return all;
}

// The configuration of the recordings: truth/README.md. The rest (dims, loss) is in the table of peaks.
const Row* RowOf(const std::vector<Row>& table, const Recorded& recorded) {
  for (const Row& row : table) {
    if (row.at("model") == recorded.model && Count(row, "batch") == recorded.batch && row.at("mode") == "train" &&
        row.at("precision") == "fp32" && row.at("optimizer") == "adam" && row.at("optimizer_impl") == "foreach" &&
        row.at("framework") == "pytorch@2.10" && row.at("capability") == "7.5") {
      return &row;
    }
  }
  return nullptr;
}

Compared CompareGraph(const Row& row, const Recorded& recorded, const std::string& zoo, const std::string& variant) {
  const auto layers = LayersOf(zoo + "/" + recorded.model + "." + variant + ".onnx", row.at("dims"));
  REQUIRE(layers);
  const auto timeline = Schedule(*layers, *SpecOf(row), recorded.batch, nullptr);
  REQUIRE(timeline);
  const Trace ours = TraceOf(*timeline, *layers, 2, AllocatorConfig()).value();
  const Trace theirs = ParseTrace(ReadStream(recorded.path).value(), recorded.path).value();
  Compared compared{recorded.model + "." + variant, 0, 0, CompareTraces(ours, theirs)};
  const TraceComparison& c = compared.comparison;
  compared.share = std::min(c.births.Share(), c.deaths.Share());
  Bytes only_ours, only_recorded;
  for (const OperatorDifference& difference : c.differences) {
    only_ours += difference.ours.bytes;
    only_recorded += difference.recorded.bytes;
  }
  const Bytes all = std::max(c.births.ours + c.deaths.ours, c.births.recorded + c.deaths.recorded);
  compared.tensors =
      1 - static_cast<double>(std::max(only_ours, only_recorded).count()) / static_cast<double>(all.count());
  return compared;
}

std::string Percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.2f", 100 * share);
  return text;
}

// Nothing where every event is equal; else how much agrees, and what differs most.
std::vector<std::string> Lines(const Compared& compared) {
  const TraceComparison& c = compared.comparison;
  if (c.equal()) return {};
  std::vector<std::string> lines = {"agree: births " + Percent(c.births.Share()) + " %, deaths " +
                                    Percent(c.deaths.Share()) + " %, tensors " + Percent(compared.tensors) + " %; " +
                                    std::to_string(c.hunks.size()) + " places"};
  for (const OperatorDifference& row : c.differences) {
    if (row.ours.bytes + row.recorded.bytes <= kLargeBlock || lines.size() > 3) break;
    lines.push_back(row.phase + (row.birth ? " births " : " deaths ") + (row.op.empty() ? "(no operator)" : row.op) +
                    ": ours " + std::to_string(row.ours.count) + ", " + ToString(row.ours.bytes) + "; recorded " +
                    std::to_string(row.recorded.count) + ", " + ToString(row.recorded.bytes));
  }
  return lines;
}

}  // namespace

TEST_CASE("accuracy: the steady step's large blocks, phase by phase") {
  const std::string truth = DataFolder() + "/truth", zoo = DataFolder() + "/zoo";
  const std::vector<Row> table = ReadCsv(truth + "/pytorch.csv");
  const std::vector<Recorded> recordings = RecordedIn(truth + "/events");
  REQUIRE(recordings.size() == 32);
  Expectation expectation("streams");
  std::vector<Compared> all;
  for (size_t i = 0; i < recordings.size(); i += kEvery) {
    const Recorded& recorded = recordings[i];
    const Row* row = RowOf(table, recorded);
    REQUIRE_MESSAGE(row != nullptr, recorded.path);
    for (const char* variant : {"ts-train", "dynamo-train"}) {
      if (!std::filesystem::exists(zoo + "/" + recorded.model + "." + variant + ".onnx")) continue;
      all.push_back(CompareGraph(*row, recorded, zoo, variant));
      expectation.AddLines(all.back().graph, Lines(all.back()));
    }
  }
  expectation.Check(kEvery == 1);
  for (const Compared& compared : all) {
    CAPTURE(compared.graph);
    CHECK(compared.share >= kWanted);
  }
}

}  // namespace vramplan::testing
