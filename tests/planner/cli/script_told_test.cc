// What an answer of vramplan run says besides its verdict: what grows, what was not seen, what comes next.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include "tests/planner/cli/script_support.h"

namespace vramplan::testing {
namespace {

std::string OnOneLine(const std::string& text) { return std::regex_replace(text, std::regex("\\s+"), " "); }

// Each step leaves 100 MB that line 7 asked for; `kept`: how many of the blocks of earlier steps are still alive.
std::string Growing(int kept) {
  std::string steps, history;
  for (int step = 1; step <= 3; ++step) {
    const std::string peak = std::to_string(200 + 100 * step) + "000000", left = std::to_string(100 * step) + "000000";
    steps += "step\t" + std::to_string(step) + "\t" + std::to_string(step);
    for (const std::string& bytes : {peak, peak, peak, left, left, left}) steps += "\t" + bytes;
    steps += "\t1.0\n";
    history += "a\t" + std::to_string(step) + "000000000\t100000000\t0\t\n";
    if (step > 1 && step - 1 > kept) history += "f\t" + std::to_string(step - 1) + "000000000\t100000000\n";
  }
  return "vramplan.recording/1\ntorch\t2.10.0+cu128\t12.8\t\nargv\ttrain.py\n" + steps +
         "last\t3\t500000000\t500000000\t500000000\t500000000\t500000000\t500000000\t300000000\t300000000\t300000000\t0"
         "\n"
         "frame\t0\t7\tmain\t/x/train.py\nstack\t0\t0\n" +
         history + "end\tsteps\t2.0\n";
}

TEST_CASE("what a script leaves more after each step is told, and when the card is full") {
  const Said grows = Run("--gpu-memory 2GiB", {Growing(3), kCard});
  CHECK(grows.exit_code == 0);
  const std::string text = OnOneLine(grows.out);
  // 2 GiB less 350 MiB of context are 1,780,482,048 B: step 15 reserves 1,700 MB, step 16 1,800 MB.
  CHECK(text.find("up to step 15, and grows") != std::string::npos);
  CHECK(text.find("after each step 95.37 MiB more is left, allocated at train.py:7: full in step 16") !=
        std::string::npos);
  // The counters alone may rise with the length of what a variable holds: the next step frees it.
  CHECK(Run("--gpu-memory 2GiB", {Growing(0), kCard}).out.find("more is left") == std::string::npos);
}

TEST_CASE("what was not seen is told, and what was written") {
  const std::string seen = "mark\tforward\t0\t/x/train.py\t9\tmain\tNet\n";
  const std::string text = OnOneLine(Run("--gpu t4", {kWhole + seen, kCard}).out);
  CHECK(text.find("not seen: an evaluation, a checkpoint, a later stage (--until-exit runs on)") != std::string::npos);
  const Said saved = Run("--gpu t4", {kWhole + seen + "saved\theld\t/x/best.pt\t/x/train.py\t31\tmain\n" +
                                          "saved\twritten\t/x/new.pt\t/x/train.py\t32\tmain\n" +
                                          "stays\t/x/old.pt\t/x/train.py\t33\tmain\n" + "waits\t/x/train.py\t8\tmain\n",
                                      kCard});
  CHECK(OnOneLine(saved.out).find(
            "not seen: an evaluation, a step of the optimizer made at train.py:8, a later stage") != std::string::npos);
  CHECK(saved.err.find("note: old.pt: was removed or renamed at train.py:33, but is kept") != std::string::npos);
  CHECK(saved.err.find("note: best.pt: was not written at train.py:31") != std::string::npos);
  CHECK(saved.err.find("warning: new.pt: was written at train.py:32") != std::string::npos);
}

TEST_CASE("what does not fit is run once more on a card that is never full") {
  const std::string script = "cd $VRAMPLAN_RECORDING\ncat >full <<'end_of_file'\n" + kFull +
                             "end_of_file\ncat >whole <<'end_of_file'\n" + kWhole +
                             "end_of_file\nif echo \"$VRAMPLAN_PRETEND_GPU\" | grep -q 'usable 2000000000'\n"
                             "then cat full; else cat whole; fi >$$.recording\n"
                             "printf 'vramplan.card/1\\ncard\\t0\\t2000000000\\t0\\t800000000\\n' >$$.card\n"
                             "! echo \"$VRAMPLAN_PRETEND_GPU\" | grep -q 'usable 2000000000'";
  const ScratchFile record("endless.csv");
  const Said said = Run("--gpu-memory 2000000000B --force --record " + record.path(), {"", "", script});
  CHECK(said.exit_code == 3);
  const std::string text = OnOneLine(said.out);
  CHECK(text.find("on a card that is never full it takes 1.09 GiB") != std::string::npos);
  // With --until-exit that run goes to its end, too.
  const ScratchFile steps("steps");
  Run("--gpu-memory 2000000000B --until-exit", {"", "", "echo $VRAMPLAN_STEPS >>" + steps.path() + "\n" + script});
  std::ifstream told(steps.path());
  CHECK(std::string(std::istreambuf_iterator<char>(told), {}) == "0\n0\n");
  // Its record is that of the second run, and says the same of every card.
  const std::string matrix = OnOneLine(Do("fit " + record.path() + " --gpu all").out);
  const std::string holds = "the smallest card that holds it: ", smallest = "the smallest is ";
  REQUIRE(text.find(holds) != std::string::npos);
  REQUIRE(matrix.find(smallest) != std::string::npos);
  const std::string card = text.substr(text.find(holds) + holds.size());
  CHECK(matrix.substr(matrix.find(smallest) + smallest.size()).starts_with(card.substr(0, card.find(" ("))));
  const Said fit = Do("fit " + record.path() + " --gpu-memory 1100MiB");
  CHECK(fit.FirstLine().find("does not fit on a card of 1.07 GiB as recorded: needs 1.09 GiB") != std::string::npos);
  CHECK(text.find("next: --try, --largest") != std::string::npos);
}

// Of twelve steps the seventh is the highest, and an evaluation after the last one reserves still more.
TEST_CASE("every row that reached what no other did is shown") {
  std::string recording = kRecording;
  recording.erase(recording.find("step\t1\t"), recording.find("frame\t0") - recording.find("step\t1\t"));
  const auto levels = [](int n) { return "\t" + std::to_string(n) + "000000\t" + std::to_string(n) + "000000"; };
  for (int step = 1; step <= 12; ++step) {
    const int peak = step == 7 ? 650 : 600;
    recording +=
        "step\t" + std::to_string(step) + "\t5" + levels(peak) + "\t700000000" + levels(500) + "\t700000000\t1.0\n";
  }
  recording += "last\t6" + levels(650) + "\t900000000" + levels(600) + "\t900000000" + levels(500) +
               "\t900000000\t0\nend\tsteps\t2.0\n";
  const std::string text = OnOneLine(Run("--gpu t4", {recording, kCard}).out);
  CHECK(text.find(" ... 7 619.89 MiB 619.89 MiB") != std::string::npos);
  CHECK(text.find("then 572.20 MiB 572.20 MiB 858.31 MiB") != std::string::npos);
}

TEST_CASE("COLUMNS says how wide the answer is") {
  for (const int width : {60, 80, 100, 140}) {
    const ScopedVariable columns("COLUMNS", std::to_string(width).c_str());
    const std::string text = Run("--gpu t4", {kWhole, kCard}).out;
    for (size_t at = text.find('\n') + 1; at < text.size(); at = text.find('\n', at) + 1)  // the verdict is one line
      CHECK(text.find('\n', at) - at <= static_cast<size_t>(width));
  }
}

TEST_CASE("a name that nobody uses is refused, and the largest number is written back") {
  const Said nobody = Run("--gpu t4 --largest B=1:128", {kWhole, kCard});
  CHECK(nobody.exit_code == 2);
  CHECK(nobody.err.find("--largest: nobody uses B: the command has no {B}") != std::string::npos);
  CHECK(Run("--gpu t4 --largest batch=1:8 --write-back", {kWhole, kCard}, " {batch}")
            .err.find("goes with --largest-in") != std::string::npos);
  const Said varied = Run("--gpu t4 --vary batch=1,2 --vary B=1,2", {kWhole, kCard}, " {batch}");
  CHECK(varied.exit_code == 2);
  CHECK(varied.err.find("--vary: nobody uses B: the command has no {B}") != std::string::npos);
  const ScratchFile config("written.yaml", "seed: 1\ndata:\n  batch: 2  # samples\n");
  const Said written = Run("--gpu t4 --largest batch=1:8 --largest-in " + config.path() + ":data.batch --write-back",
                           {kWhole, kCard}, " " + config.path());
  CHECK(written.exit_code == 0);
  CHECK(config.Bytes() == "seed: 1\ndata:\n  batch: 8  # samples\n");
}

}  // namespace
}  // namespace vramplan::testing
