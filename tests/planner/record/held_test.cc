// Who holds what: kinds of blocks, as a run tells them and as its record says them again.
#include <doctest/doctest.h>

#include <map>
#include <string>

#include "planner/record/played.h"
#include "planner/record/record.h"

using namespace vramplan;

namespace {

// LoRA: a frozen matrix (1000), a trained one (2000), a library's forward called at tune.py:9, logits (300) and the loss
// (40), a gradient in a thread of PyTorch's, whose backward tune.py:10 called.
constexpr const char* kTuned =
    "vramplan.recording/1\n"
    "mark\tforward\t3\ttune.py\t9\tmain\tnet\n"
    "mark\tbackward\t6\ttune.py\t10\tmain\n"
    "mark\tafter-backward\t7\ttune.py\t10\tmain\n"
    "mark\tupdate\t7\ttune.py\t11\tmain\n"
    "mark\tafter-update\t8\ttune.py\t11\tmain\n"
    "last\t8\t1\t1\t1\t1\t1\t1\t1\t1\t1\t0\n"
    "frame\t0\t4\tmain\ttune.py\n"
    "frame\t1\t20\tforward\t/v/site-packages/peft/lora.py\n"
    "frame\t2\t9\tmain\ttune.py\n"
    "stack\t0\t0\n"
    "stack\t1\t1,2\n"
    "stack\t2\t\n"
    "a\t1000\t1000\t0\t\n"
    "a\t2000\t10\t0\t\n"
    "a\t3000\t7\t0\t\n"
    "tag\tparameters\t4\t1000,2000\n"
    "tag\tfrozen\t4\t1000\n"
    "at\tforward\n"
    "in\tnet\n"
    "in\tnet.h.0\n"
    "a\t4000\t500\t1\tnet.h.0\n"
    "out\tnet.h.0\t4000\n"
    "a\t5000\t300\t1\tnet\n"
    "out\tnet\t5000,4000\n"
    "at\tloss\n"
    "a\t6000\t40\t0\t\n"
    "at\tbackward\n"
    "a\t7000\t10\t2\t\n"
    "tag\tgradients\t4\t7000\n"
    "at\tupdate\n"
    "a\t8000\t20\t0\t\n"
    "at\tafter-update\n"
    "tag\tparameters\t4\t2000\n"
    "tag\toptimizer_state\t4\t8000\n"
    "at\tstep\n"
    "end\tsteps\t1\n";

std::map<HeldKind, int64_t> BytesByKind(const std::vector<HeldRow>& rows) {
  std::map<HeldKind, int64_t> bytes;
  for (const HeldRow& row : rows) bytes[row.kind] += row.bytes.count();
  return bytes;
}

TEST_CASE("kinds of a run and of its record, with the script's own lines") {
  using enum HeldKind;
  const Recording recording = ReadRecording("r", kTuned).value();
  const Record record = RecordOf(recording, false);
  // The largest thing that the outermost module gives is older than the logits: from there on it is the head's.
  const std::map<HeldKind, int64_t> expected = {{kFrozenWeights, 1000}, {kTrainedWeights, 10}, {kGradients, 10},
                                                {kOptimizerState, 20},  {kOutputs, 840},       {kUntold, 7}};
  const HighMoment moment = MomentOf(recording, KindsOf(record));
  CHECK(BytesByKind(moment.rows) == expected);
  const Record again = ReadRecord(PrintRecord(record), "r.csv").value();
  CHECK(PrintRecord(again) == PrintRecord(record));
  const std::vector<HeldRow> held = HeldAt(again, again.rows.size());
  CHECK(BytesByKind(held) == expected);
  const HeldRow forward = {{"/v/site-packages/peft/lora.py", 20, "forward"},
                           {"tune.py", 9, ""},
                           "net.h.0",
                           kOutputs,
                           Phase::kForward,
                           1,
                           Bytes::Of(500)};
  CHECK(held[1] == forward);
  CHECK(PlaceText(again, 6) == "tune.py:10 main");
}

TEST_CASE("without a step of an optimizer only what is frozen is known") {
  std::string text = kTuned;
  text.erase(text.find("at\tbackward"));
  const Record record = RecordOf(ReadRecording("r", text).value(), false);
  const std::map<HeldKind, int64_t> bytes = BytesByKind(HeldAt(record, record.rows.size()));
  CHECK(bytes.at(HeldKind::kFrozenWeights) == 1000);
  CHECK(bytes.at(HeldKind::kWeights) == 10);
}

TEST_CASE("a record of before, without callers") {
  const std::string text = std::string(kRecordColumns) + "\nalloc,0,512,0,setup,frozen,4,,a.py,1,main\n";
  const Record record = ReadRecord(text, "r").value();
  CHECK(record.blocks[0].frozen);
  CHECK(record.blocks[0].caller == -1);
  CHECK(ReadRecord(std::string(kRecordColumns) + ",color\nalloc,0,512,0,setup,inputs,,,,,,\n", "r").ok() == false);
}

}  // namespace
