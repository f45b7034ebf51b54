// A script that catches that memory ran out: whether it went on decides what is said.
#include "planner/report/script.h"

#include <doctest/doctest.h>

#include <string>

using namespace vramplan;

namespace {

// A forward that is refused 64 MiB, and `behind` it; the script ends by itself, with exit code 0.
ScriptReport Caught(const std::string& behind) {
  const std::string text =
      "vramplan.recording/1\nargv\ttrain.py\nout-of-memory\t1\t67108864\t0\t0\t4194304\t4194304\t4194304\tt.py\t6\tm\n"
      "last\t3\t1\t1\t1\t1\t1\t1\t1\t1\t1\t0\nframe\t0\t6\tm\tt.py\nstack\t0\t0\n"
      "a\t1000\t4194304\t0\t\nat\tforward\nin\tnet\no\t0\t67108864\nout\tnet\t\n" +
      behind + "end\texit\t1\n";
  ScriptReport report;
  report.command = {"python", "train.py"};
  report.exit_code = 0;
  report.recording = ReadRecording("r", text).value();
  report.card_given = true;
  report.device.usable = Bytes::GiB(1);
  report.device.pool.bytes = Bytes::GiB(1);
  Conclude(&report);
  return report;
}

TEST_CASE("scripts: one that catches the error and does nothing more does not fit") {
  const ScriptReport report = Caught("");
  CHECK(report.verdict == Verdict::kDoesNotFit);
  CHECK(report.caught);
  Style wide;
  wide.width = 400;
  CHECK(PrintScript(report, wide).find("the script caught the error") != std::string::npos);
}

TEST_CASE("scripts: one that goes on after the error fits, and what it was refused can be said") {
  const ScriptReport report = Caught("in\tnet\na\t2000\t4096\t0\tnet\nout\tnet\t2000\n");
  CHECK(report.verdict != Verdict::kDoesNotFit);
  CHECK_FALSE(report.caught);
  REQUIRE(report.survived);
  CHECK(RefusalText(report).find("64.00 MiB more did not fit at t.py:6 m") != std::string::npos);
}

}  // namespace
