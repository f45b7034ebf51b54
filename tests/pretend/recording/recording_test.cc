#include "pretend/recording/recording.h"

#include <doctest/doctest.h>

#include "pretend/recording/words.h"

using namespace vramplan;

namespace {

TEST_CASE("words: escapes, numbers, and what is none") {
  Words words("a\\tb\\\\c\\n\t12\t1.5\tx\t");
  CHECK(words.Text() == "a\tb\\c\n");
  CHECK(words.Number() == 12);
  CHECK(words.Real() == 1.5);
  CHECK(!words.bad());
  CHECK(words.Number() == 0);
  CHECK(words.bad());
  CHECK(words.more());
  CHECK(words.Raw() == "");
  CHECK(!words.more());
}

constexpr const char* kWhole =
    "vramplan.recording/1\n"
    "python\t3.11.7\t/usr/bin/python3\n"
    "torch\t2.10.0+cu128\t12.8\t\n"
    "argv\ttrain.py\t--lr\t0.1\n"
    "rank\t1\t8\n"
    "preloaded\t0\n"
    "mark\tbackward\t2\ttrain.py\t11\tmain\n"
    "step\t1\t3\t10\t20\t30\t1\t2\t3\t0.5\n"
    "out-of-memory\t3\t700\t1000\t600\t100\t200\t400\ttrain.py\t12\tmain\n"
    "failed\ttorch.OutOfMemoryError\tCUDA out of memory.\n"
    "last\t3\t11\t21\t31\t10\t20\t30\t1\t2\t3\t4\n"
    "frame\t0\t6\tforward\t/x/model\\tb.py\n"
    "stack\t0\t0\n"
    "stack\t1\t\n"
    "s\t100\t2048\n"
    "a\t100\t512\t0\tlayer1.conv\n"
    "a\t612\t512\t1\t\n"
    "f\t100\t512\n"
    "o\t0\t700\n"
    "u\t100\t2048\n"
    "in\tlayer1.conv\n"
    "out\tlayer1.conv\t612,700\n"
    "at\tafter-zero-grad\n"
    "tag\toptimizer_state\t2\t612\n"
    "a word of later\t7\n"
    "fault\tenter\tKeyError()\n"
    "mark\tinference\t3\ttrain.py\t30\tmain\tNet\n"
    "allocator\tcudaMallocAsync\n"
    "limit\t0.5\n"
    "by-value\tnonzero()\t4\t/x/train.py\t9\tmain\n"
    "changed\tAdamW(foreach=False)\n"
    "end\texit\t3.2\n";

TEST_CASE("a whole recording") {
  const Result<Recording> read = ReadRecording("1.recording", kWhole);
  REQUIRE(read.ok());
  const Recording& recording = *read;
  CHECK(recording.python == "3.11.7");
  CHECK(recording.torch == "2.10.0+cu128");
  CHECK(recording.cuda == "12.8");
  CHECK(recording.argv == std::vector<std::string>{"train.py", "--lr", "0.1"});
  CHECK(recording.rank == 1);
  CHECK(!recording.preloaded);
  CHECK(recording.ranks == 8);
  REQUIRE(recording.marks.size() == 2);
  CHECK(recording.marks[1].kind == MarkKind::kInference);
  CHECK(recording.marks[1].module == "Net");
  CHECK(recording.marks[1].steps == 1);
  CHECK(recording.allocator == "cudaMallocAsync");
  CHECK(recording.limit == 0.5);
  CHECK(recording.marks[0].kind == MarkKind::kBackward);
  CHECK(recording.marks[0].place == CodePlace{"train.py", 11, "main"});
  REQUIRE(recording.steps.size() == 1);
  CHECK(recording.steps[0].peak == Levels{Bytes::Of(10), Bytes::Of(20), Bytes::Of(30)});
  CHECK(recording.steps[0].after == Levels{Bytes::Of(1), Bytes::Of(2), Bytes::Of(3)});
  CHECK(recording.steps[0].seconds == 0.5);
  REQUIRE(recording.refusals.size() == 1);
  CHECK(recording.refusals[0].asked == Bytes::Of(700));
  CHECK(recording.refusals[0].marks == 1);
  CHECK(recording.refusals[0].steps == 1);
  CHECK(recording.refusals[0].held.reserved == Bytes::Of(400));
  CHECK(recording.failure == "torch.OutOfMemoryError");
  CHECK(recording.failure_text == "CUDA out of memory.");
  CHECK(recording.peak() == Levels{Bytes::Of(11), Bytes::Of(21), Bytes::Of(31)});
  CHECK(recording.last->now.allocated == Bytes::Of(2));
  CHECK(recording.last->retries == 4);
  CHECK(recording.frames == std::vector<CodePlace>{{"/x/model\tb.py", 6, "forward"}});
  CHECK(recording.stacks == std::vector<std::vector<int32_t>>{{0}, {}});
  CHECK(recording.modules == std::vector<std::string>{"layer1.conv"});
  REQUIRE(recording.history.size() == 12);
  const std::vector<HistoryKind> details = {HistoryKind::kEnter, HistoryKind::kGives,    HistoryKind::kGives,
                                            HistoryKind::kLeave, HistoryKind::kLoopMark, HistoryKind::kTag};
  for (size_t i = 0; i < details.size(); ++i) CHECK(recording.history[6 + i].kind == details[i]);
  CHECK(recording.history[8].address == 700);
  CHECK(recording.history[9].module == 0);
  CHECK(static_cast<LoopMark>(recording.history[10].what) == LoopMark::kAfterZeroGrad);
  CHECK(static_cast<TensorUse>(recording.history[11].what) == TensorUse::kOptimizerState);
  CHECK(recording.history[11].bytes == Bytes::Of(2));
  CHECK(recording.history[1].module == 0);
  CHECK(recording.history[2].module == -1);
  CHECK(recording.history[4].kind == HistoryKind::kRefused);
  CHECK(recording.faults == std::vector<std::string>{"enter: KeyError()"});
  REQUIRE(recording.by_value.size() == 1);
  CHECK(recording.by_value[0].what == "nonzero()");
  CHECK(recording.by_value[0].times == 4);
  CHECK(recording.by_value[0].place == CodePlace{"/x/train.py", 9, "main"});
  CHECK(recording.changed == std::vector<std::string>{"AdamW(foreach=False)"});
  CHECK(recording.end == "exit");
  CHECK(recording.seconds == 3.2);
}

TEST_CASE("what is cut off gives what it still says") {
  const std::string whole = kWhole;
  for (size_t size = 22; size < whole.size(); ++size) {
    CAPTURE(size);
    CHECK(ReadRecording("1.recording", whole.substr(0, size)).ok());
  }
}

TEST_CASE("what is no recording") {
  struct Row {
    const char* text;
    const char* says;
  };
  const Row rows[] = {
      {"", "1.recording: does not begin with vramplan.recording/1"},
      {"vramplan.recording/2\nend\texit\t1\n", "1.recording: does not begin with vramplan.recording/1"},
      {"vramplan.recording/1\nstep\tx\t3\t1\t2\t3\t4\t5\t6\t7\nend\texit\t1\n",
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
      {"vramplan.recording/1\na\t1\t2\t5\t\nend\texit\t1\n",  // there is no stack 5
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
      {"vramplan.recording/1\nstack\t0\t7\nend\texit\t1\n",  // there is no frame 7
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
      {"vramplan.recording/1\nat\tlunch\nend\texit\t1\n",
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
      {"vramplan.recording/1\ntag\tgradients\t4\t1,x\nend\texit\t1\n",
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
      {"vramplan.recording/1\nmark\tsideways\t1\ta\t1\tb\nend\texit\t1\n",
       "1.recording: line 2 cannot be read (hint: was it written by another version of vramplan?)"},
  };
  for (const Row& row : rows) {
    const Result<Recording> read = ReadRecording("1.recording", row.text);
    REQUIRE(!read.ok());
    CHECK(ToString(read.error()) == row.says);
  }
}

TEST_CASE("what the card's library wrote") {
  const Result<CardLog> log = ReadCardLog("1.card",
                                          "vramplan.card/1\ncuda\t12080\ncard\t0\t1000\t10\t700\nrefused\t0\t2\t5000\n"
                                          "cudnn\tused\nmanaged\t64\nuncovered\tcudaArrayGetInfo\n"
                                          "static-runtime\t/x/lib.so\ntogether\t0\t900\t2\n");
  REQUIRE(log.ok());
  CHECK(log->total == Bytes::Of(1000));
  CHECK(log->used == Bytes::Of(10));
  CHECK(log->peak == Bytes::Of(700));
  CHECK(log->refused == 2);
  CHECK(log->largest_refused == Bytes::Of(5000));
  CHECK(log->cudnn);
  CHECK(log->managed == Bytes::Of(64));
  CHECK(log->uncovered == std::vector<std::string>{"cudaArrayGetInfo"});
  REQUIRE(log->together.size() == 1);
  CHECK(log->together[0].bytes == Bytes::Of(900));
  CHECK(log->together[0].contexts == 2);
  CHECK(log->static_runtimes == std::vector<std::string>{"/x/lib.so"});
}

}  // namespace
