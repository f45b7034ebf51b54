#include "planner/record/record.h"

#include <doctest/doctest.h>

#include "planner/allocator/stream.h"
#include "planner/record/played.h"

using namespace vramplan;

namespace {

// Two steps of a model of one parameter: an activation, a gradient, a state; zero_grad stands at the end of the loop.
constexpr const char* kRecorded =
    "vramplan.recording/1\n"
    "last\t9\t1\t2\t3\t1\t1\t1\t1\t1\t1\t0\n"
    "frame\t0\t6\tmain\ttrain,1.py\n"
    "frame\t1\t20\tforward\tmodel.py\n"
    "stack\t0\t0\n"
    "stack\t1\t1,0\n"
    "stack\t2\t\n"
    "a\t1000\t65536\t0\t\n"
    "a\t2000\t4096\t0\t\n"
    "tag\tparameters\t4\t1000\n"
    "tag\tinputs\t2\t2000,1000\n"
    "at\tforward\n"
    "in\tlayers.0\n"
    "a\t3000\t8192\t1\tlayers.0\n"
    "a\t4000\t512\t1\tlayers.0\n"
    "f\t4000\t512\n"
    "out\tlayers.0\t3000,77\n"
    "at\tloss\n"
    "f\t2000\t4096\n"
    "a\t5000\t512\t0\t\n"
    "at\tbackward\n"
    "a\t6000\t65536\t2\t\n"
    "f\t3000\t8192\n"
    "at\tafter-backward\n"
    "tag\tgradients\t4\t6000\n"
    "at\tupdate\n"
    "a\t7000\t65536\t0\t\n"
    "a\t8000\t1024\t0\t\n"
    "f\t8000\t1024\n"
    "at\tafter-update\n"
    "tag\toptimizer_state\t4\t7000\n"
    "at\tstep\n"
    "at\tzero-grad\n"
    "f\t6000\t65536\n"
    "at\tafter-zero-grad\n"
    "u\t1\t2\n"
    "a\t2000\t4096\t0\t\n"
    "end\tsteps\t1\n";

constexpr const char* kRecord =
    "op,id,bytes,step,phase,category,element,module,file,line,function,caller\n"
    "cudnn,,,0,setup,,,,,,,\n"
    "reserved,,3,0,setup,,,,,,,\n"
    "alloc,0,65536,0,setup,parameters,4,,train;1.py,6,main,\n"
    "alloc,1,4096,0,setup,inputs,2,,train;1.py,6,main,\n"
    "enter,,,1,forward,,,layers.0,,,,\n"
    "alloc,2,8192,1,forward,outputs,,layers.0,model.py,20,forward,\n"
    "alloc,3,512,1,forward,temporaries,,layers.0,model.py,20,forward,\n"
    "free,3,512,1,forward,,,,,,,\n"
    "leave,2,,1,forward,,,layers.0,,,,\n"
    "free,1,4096,1,forward,,,,,,,\n"  // until something is allocated it is the forward's
    "alloc,4,512,1,loss,outputs,,,train;1.py,6,main,\n"
    "alloc,5,65536,1,backward,gradients,4,,,,,\n"
    "free,2,8192,1,backward,,,,,,,\n"
    "alloc,6,65536,1,update,optimizer_state,4,,train;1.py,6,main,\n"
    "alloc,7,1024,1,update,temporaries,,,train;1.py,6,main,\n"
    "free,7,1024,1,update,,,,,,,\n"
    "free,5,65536,1,zero_grad,,,,,,,\n"  // of the step that is over
    "empty_cache,,,1,update,,,,,,,\n"
    "alloc,8,4096,2,forward,activations,,,train;1.py,6,main,\n";

TEST_CASE("a recording becomes a record: steps, phases, categories, what modules give") {
  const Result<Recording> recording = ReadRecording("r", kRecorded);
  REQUIRE(recording.ok());
  CHECK(PrintRecord(RecordOf(*recording, true)) == kRecord);
}

// A gradient that is a part of the loss: what follows its backward is of the forward, and what follows the last one is not.
TEST_CASE("a recording becomes a record: between two backwards is a forward, where an optimizer updates") {
  const std::string history =
      "vramplan.recording/1\nlast\t9\t1\t2\t3\t1\t1\t1\t1\t1\t1\t0\nframe\t0\t6\tmain\tt.py\nstack\t0\t0\n"
      "at\tforward\na\t1000\t512\t0\t\nat\tbackward\na\t2000\t1024\t0\t\nat\tafter-backward\na\t3000\t2048\t0\t\n"
      "at\tbackward\na\t4000\t4096\t0\t\nat\tafter-backward\na\t5000\t8192\t0\t\n";
  const auto phases = [&](const std::string& end) {
    const Result<Recording> recording = ReadRecording("r", history + end + "end\tsteps\t1\n");
    REQUIRE(recording.ok());
    std::vector<Phase> of;
    for (const RecordRow& row : RecordOf(*recording, false).rows)
      if (row.kind == RowKind::kAllocate) of.push_back(row.phase);
    return of;
  };
  using enum Phase;
  CHECK(phases("at\tupdate\nat\tafter-update\nat\tstep\n") ==
        std::vector{kForward, kBackward, kForward, kBackward, kUpdate});
  // Without an optimizer the script may update there.
  CHECK(phases("") == std::vector{kForward, kBackward, kUpdate, kBackward, kUpdate});
}

TEST_CASE(
    "a recording becomes a record: of blocks of a workspace's size one in the forward and one in the backward is one") {
  std::string history =
      "vramplan.recording/"
      "1\nlast\t9\t1\t2\t3\t1\t1\t1\t1\t1\t1\t0\nframe\t0\t6\tmain\tt.py\nstack\t0\t0\nat\tforward\n";
  for (const char* address : {"1000", "2000", "3000"}) history += std::string("a\t") + address + "\t33554432\t0\t\n";
  history += "at\tbackward\na\t4000\t33554432\t0\t\nend\tsteps\t1\n";
  const Result<Recording> recording = ReadRecording("r", history);
  REQUIRE(recording.ok());
  std::vector<Category> categories;
  for (const RecordBlock& block : RecordOf(*recording, false).blocks) categories.push_back(block.category);
  using enum Category;
  CHECK(categories == std::vector{kWorkspace, kActivations, kActivations, kWorkspace});
}

TEST_CASE("what is written is read again") {
  const Result<Record> record = ReadRecord(kRecord, "r.csv");
  REQUIRE(record.ok());
  CHECK(PrintRecord(*record) == kRecord);
  CHECK(record->cudnn);
  CHECK(record->reserved == Bytes::Of(3));
  CHECK(record->modules == std::vector<std::string>{"layers.0"});
  CHECK(record->rows[6].results == std::vector<int32_t>{2});
}

TEST_CASE("rows that cannot be read") {
  const std::string head = std::string(kRecordColumns) + "\n";
  const std::string birth = "alloc,0,512,0,setup,inputs,,,,,\n";
  struct Row {
    std::string text, error;
  };
  const Row rows[] = {
      {"op,id,bytes\n", "r.csv:1: the first line is not the header of a recorded run"},
      {head, "r.csv:1: nothing was allocated"},
      {head + "alloc,0,512\n", "r.csv:2: it does not have 11 cells"},
      {head + "give,0,512,0,setup,inputs,,,,,\n", "r.csv:2: 'give' is not alloc, free, enter or leave"},
      {head + "alloc,0,512,0,lunch,inputs,,,,,\n", "r.csv:2: its step or phase cannot be read"},
      {head + "alloc,0,-1,0,setup,inputs,,,,,\n", "r.csv:2: its block or its bytes cannot be read"},
      {head + "alloc,0,512,0,setup,food,,,,,\n", "r.csv:2: its category, element or line cannot be read"},
      {head + birth + birth, "r.csv:3: block 0 is allocated twice"},
      {head + birth + "free,1,512,0,setup,,,,,,\n", "r.csv:3: block 1 is freed but not there"},
      {head + birth + "leave,0 1,,0,setup,,,a,,,\n", "r.csv:3: '0 1' are not blocks above it"},
      {head + birth + "enter,,,0,setup,,,,,,\n", "r.csv:3: it names no module"},
      {head + "alloc,0,512,2,forward,inputs,,,,,\nfree,0,512,1,forward,,,,,,\n",
       "r.csv:3: its step is before that of the row above"},
  };
  for (const Row& row : rows) {
    const Result<Record> record = ReadRecord(row.text, "r.csv");
    REQUIRE(!record.ok());
    CHECK(record.error().subject + ": " + record.error().text == row.error);
  }
}

TEST_CASE("the timeline of a record takes what its stream takes, and its setup counts") {
  const Record record = ReadRecord(kRecord, "r.csv").value();
  const PlayedRecord played = Played(record);
  const Peak peak = Replay(played.timeline, 1, AllocatorConfig(), Bytes::Max());
  const StreamPeak stream = ReplayStream(kRecord, "r.csv", AllocatorConfig(), Bytes::Max(), StreamCheck::kOff).value();
  CHECK(peak.peak == stream.peak);
  CHECK(peak.peak.requested == Bytes::Of(65536 * 3 + 512 + 1024));
  CHECK(record.rows[played.rows[peak.moment.event]].phase == Phase::kUpdate);
  CHECK(PlaceText(record, 2) == "model.py:20 forward");
  CHECK(PlaceText(record, 5) == "");
}

TEST_CASE("a step of a record as a trace: rounded blocks, old ones, lines of the file") {
  const Record record = ReadRecord(kRecord, "r.csv").value();
  const Trace trace = TraceOf(record, "r.csv", 1, AllocatorConfig()).value();
  REQUIRE(trace.size() == 11);
  CHECK(trace[0].bytes == Bytes::Of(8192));
  CHECK(trace[0].block == 0);
  CHECK(trace[0].layer == "model.py:20 forward");
  CHECK(trace[0].module == "layers.0");
  CHECK(trace[0].line == 7);
  CHECK(!trace[3].birth);
  CHECK(!trace[3].block);  // from before the step
  CHECK(trace[10].phase == "zero_grad");
  const Result<Trace> missing = TraceOf(record, "r.csv", 3, AllocatorConfig());
  REQUIRE(!missing.ok());
  CHECK(missing.error().text == "r.csv has 2 steps");
}

TEST_CASE("steps without a row, and more of them than a timeline counts") {
  std::string text = std::string(kRecordColumns) + "\n";
  for (int step = 0; step < 400; step += 3) {
    const std::string id = std::to_string(step);
    text += "alloc," + id + ",512," + id + ",forward,temporaries,,,,,\n";
    text += "free," + id + ",512," + id + ",forward,,,,,,\n";
  }
  const PlayedRecord played = Played(ReadRecord(text, "r").value());
  CHECK(played.timeline.steps == 127);
  CHECK(Replay(played.timeline, 1, AllocatorConfig(), Bytes::Max()).peak.requested == Bytes::Of(512));
}

}  // namespace
