// tests/data/operators/models.csv.gz: small models around one operator, in both exports, with every request and release
// of their second step as PyTorch's memory history has them.
#include <doctest/doctest.h>

#include <set>
#include <sstream>

#include "planner/allocator/replay.h"
#include "tests/support/truth.h"

namespace vramplan::testing {
namespace {

constexpr int kStep = 2;
constexpr int64_t kBatch = 8;

// "forward: +4096 +4096 -4096 backward: ..."
std::string EventsOf(const Timeline& timeline) {
  std::ostringstream text;
  std::string_view phase;
  for (const Event& event : timeline.events) {
    const bool born = event.kind == EventKind::kAllocate;
    if (event.step != kStep || (!born && event.kind != EventKind::kFree)) continue;
    const int64_t bytes = timeline[event.block].bytes.At(kBatch).count();
    if (bytes == 0) continue;
    if (Name(event.phase) != phase) {
      text << (phase.empty() ? "" : " ") << (phase = Name(event.phase)) << ":";
    }
    text << (born ? " +" : " -") << bytes;
  }
  return text.str();
}

// What the dynamo exporter takes apart and nothing puts back together, since no held-out model has it (docs/file.md): such
// files are answered from their operators.
const std::set<std::string> kTakenApart = {
    "weight_norm", "weight_norm_old", "spectral_norm", "w_wn_lin",     "w_sn_t",        "w_sn_new", "conv_same",
    "loss_sl1",    "loss_huber",      "loss_rank",     "loss_bcel_pw", "loss_mbcel_pw", "ix_iadd"};

TEST_CASE("models of one operator: the recorded streams") {
  const auto rows = ReadCsv(DataFolder() + "/operators/models.csv.gz");
  REQUIRE(rows.size() > 300);
  for (const Row& row : rows) {
    if (row.at("graph") == "dynamo-train" && kTakenApart.contains(row.at("model"))) continue;
    CAPTURE(row.at("model") + " " + row.at("graph") + " " + row.at("mode") + " " + row.at("precision"));
    const auto layers =
        LayersOf(DataFolder() + "/operators/models/" + row.at("model") + "." + row.at("graph") + ".onnx", "");
    REQUIRE(layers.ok());
    Row with_optimizer = row;
    with_optimizer["optimizer"] = "adam";
    with_optimizer["optimizer_impl"] = "foreach";
    auto spec = SpecOf(with_optimizer);
    REQUIRE(spec.has_value());
    spec->loss = ParseLoss(row.at("loss")).value();
    Notes notes;
    const auto timeline = Schedule(*layers, *spec, kBatch, &notes);
    REQUIRE(timeline.ok());
    CHECK_FALSE(notes.Has("unknown-operator"));
    for (const Note& note : notes.all()) CHECK_FALSE_MESSAGE(note.code == "results-part", ToString(note));
    CHECK(EventsOf(*timeline) == row.at("events"));
    if (row.at("requested").empty()) continue;  // the recorded model has a buffer that its graph has not
    for (const StepPeak& step : Replay(*timeline, kBatch, AllocatorConfig(), Bytes::Max()).steps) {
      if (step.step == kStep) CHECK(step.peak.requested.count() == Count(row, "requested"));
    }
  }
}

}  // namespace
}  // namespace vramplan::testing
