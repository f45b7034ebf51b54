// A script that catches that memory ran out: the figures are of what then succeeded.
#include <doctest/doctest.h>

#include <string>

#include "planner/record/played.h"
#include "planner/record/record.h"

using namespace vramplan;

namespace {

// A weight of 4 MiB, a try with 64 MiB of activations that is refused the next 64 MiB, then a step with 16 MiB. Counters
// of the step have the failed try's.
std::string Retried(bool tried) {
  const std::string mib = "1048576";
  const auto mibs = [](int n) { return std::to_string(int64_t{n} << 20); };
  std::string history = "a\t1000\t" + mibs(4) + "\t0\t\ntag\tparameters\t4\t1000\n";
  if (tried) {
    history += "a\t2000\t" + mibs(8) + "\t0\t\nat\tforward\nin\tnet\na\t3000\t" + mibs(64) + "\t0\tnet\na\t4000\t" +
               mib + "\t0\tnet\nf\t4000\t" + mib + "\no\t0\t" + mibs(64) + "\nout\tnet\t\nf\t3000\t" + mibs(64) +
               "\nf\t2000\t" + mibs(8) + "\nu\t1\t" + mibs(64) + "\n";
  }
  history += "a\t2000\t" + mibs(2) + "\t0\t\nat\tforward\nin\tnet\na\t3000\t" + mibs(16) +
             "\t0\tnet\nout\tnet\t3000\nat\tbackward\na\t5000\t" + mibs(4) + "\t0\t\nf\t3000\t" + mibs(16) +
             "\nat\tafter-backward\nat\tupdate\nat\tafter-update\nat\tstep\n";
  const std::string allocations = tried ? "7" : "4", peak = tried ? mibs(77) : mibs(26);
  const std::string levels = peak + "\t" + peak + "\t" + (tried ? mibs(100) : mibs(46));
  const std::string left = mibs(10) + "\t" + mibs(10) + "\t" + mibs(46);
  std::string text = "vramplan.recording/1\nargv\ttrain.py\n";
  if (tried)
    text +=
        "out-of-memory\t4\t" + mibs(64) + "\t0\t0\t" + mibs(76) + "\t" + mibs(76) + "\t" + mibs(100) + "\tt.py\t6\tm\n";
  text += "mark\tbackward\t" + std::to_string(tried ? 6 : 3) + "\tt.py\t7\tm\nstep\t1\t" + allocations + "\t" + levels +
          "\t" + left + "\t1\nlast\t" + allocations + "\t" + levels + "\t" + left + "\t" + left + "\t0\n";
  return text + "frame\t0\t6\tm\tt.py\nstack\t0\t0\n" + history + "end\tsteps\t1\n";
}

TEST_CASE("what only a failed try had is gone, from the record and from the counters") {
  const Recording whole = ReadRecording("r", Retried(true)).value();
  REQUIRE(whole.refusals.size() == 1);
  const Recording recording = Succeeded(whole);
  const Recording alone = ReadRecording("r", Retried(false)).value();
  const Record record = RecordOf(recording, false), expected = RecordOf(alone, false);
  const auto sizes = [](const Record& of) {
    std::vector<Bytes> bytes;
    for (const RecordBlock& block : of.blocks) bytes.push_back(block.bytes);
    return bytes;
  };
  CHECK(sizes(record) == sizes(expected));
  CHECK(recording.last->allocations == 4);
  CHECK(recording.marks[0].allocations == 3);
  CHECK(recording.steps[0].peak.requested == Bytes::MiB(26));
  CHECK(recording.steps[0].peak.allocated == Bytes::MiB(26));
  const Peak replayed = Replay(Played(expected).timeline, 1, AllocatorConfig(), Bytes::Max());
  CHECK(recording.peak().reserved == replayed.peak.reserved);
  CHECK(MomentOf(recording).requested == Bytes::MiB(26));
}

TEST_CASE("what a failed try leaves behind stays") {
  std::string text = Retried(true);
  const std::string kept = "f\t3000\t67108864\n";
  text.erase(text.find(kept), kept.size());
  const size_t address = text.find("a\t3000\t16777216");
  text.replace(address, 6, "a\t6000");
  CHECK(MomentOf(Succeeded(ReadRecording("r", text).value())).requested == Bytes::MiB(4 + 64 + 2 + 16 + 4));
}

}  // namespace
