#include "pretend/recording/moment.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace vramplan;

namespace {

// A model of one parameter (100), an activation (40), a gradient that a thread of PyTorch's allocates (100), the
// optimizer's state (200); in the second step the activation and the gradient again, and something larger (300).
constexpr const char* kTwoSteps =
    "vramplan.recording/1\n"
    "mark\tbackward\t2\ttrain.py\t11\tmain\n"
    "mark\tafter-backward\t3\ttrain.py\t11\tmain\n"
    "mark\tupdate\t3\ttrain.py\t12\tmain\n"
    "mark\tafter-update\t4\ttrain.py\t12\tmain\n"
    "step\t1\t4\t400\t400\t400\t0\t0\t0\t1\n"
    "mark\tbackward\t5\ttrain.py\t11\tmain\n"
    "mark\tafter-backward\t7\ttrain.py\t11\tmain\n"
    "last\t7\t740\t740\t740\t0\t0\t0\t0\t0\t0\t0\n"
    "frame\t0\t31\t_apply\t/v/site-packages/torch/nn/modules/module.py\n"
    "frame\t1\t6\tmain\ttrain.py\n"
    "frame\t2\t20\tforward\t/v/site-packages/timm/layers.py\n"
    "frame\t3\t55\t_init_group\t/v/site-packages/torch/optim/sgd.py\n"
    "frame\t4\t12\tmain\ttrain.py\n"
    "stack\t0\t0,1\n"
    "stack\t1\t2,0,1\n"
    "stack\t2\t\n"
    "stack\t3\t3,4\n"
    "stack\t4\t3\n"
    "s\t0\t1000\n"
    "a\t1000\t100\t0\t\n"     // 1: the parameter
    "a\t1100\t40\t1\tconv\n"  // 2: the activation
    "a\t1200\t100\t2\t\n"     // 3: the gradient
    "f\t1100\t40\n"
    "a\t1300\t200\t3\t\n"  // 4: the state; 400 live
    "f\t1200\t100\n"
    "a\t1400\t40\t1\tconv\n"  // 5: the activation again
    "a\t1500\t100\t2\t\n"     // 6: the gradient again
    "a\t1600\t300\t4\t\n"     // 7: within the backward; 740 live
    "f\t1600\t300\n"
    "f\t1400\t40\n"
    "end\texit\t1\n";

TEST_CASE("the highest moment: who holds it, from where, in which phase") {
  const Result<Recording> recording = ReadRecording("r", kTwoSteps);
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOf(*recording);
  CHECK(moment.requested == Bytes::Of(740));
  CHECK(moment.reserved == Bytes::Of(1000));
  CHECK(moment.step == 2);
  CHECK(moment.phase == RunPhase::kBackward);
  CHECK(!moment.before_history);
  const CodePlace sgd = {"/v/site-packages/torch/optim/sgd.py", 55, "_init_group"};
  CHECK(moment.place == sgd);  // no line but PyTorch's
  const std::vector<HeldRow> rows = {
      {sgd, "", RunPhase::kBackward, 1, Bytes::Of(300)},
      {{"train.py", 12, "main"}, "", RunPhase::kUpdate, 1, Bytes::Of(200)},
      {{"train.py", 6, "main"}, "", RunPhase::kSetup, 1, Bytes::Of(100)},
      {{"train.py", 11, "main"}, "", RunPhase::kBackward, 1, Bytes::Of(100)},  // the line that called backward()
      {{"/v/site-packages/timm/layers.py", 20, "forward"}, "conv", RunPhase::kForward, 1, Bytes::Of(40)},
  };
  CHECK(moment.rows == rows);
  const std::array<Bytes, kRunPhases> peaks = PhasePeaks(*recording);
  CHECK(*std::ranges::max_element(peaks) == moment.requested);
  CHECK(peaks[static_cast<size_t>(moment.phase)] == moment.requested);
  CHECK(peaks[static_cast<size_t>(RunPhase::kSetup)] == Bytes::Of(100));
}

TEST_CASE("a history that begins late counts from its end, and says so") {
  std::string text = kTwoSteps;
  const size_t lost = text.find("a\t1000");
  text.erase(lost, text.find('\n', lost) + 1 - lost);
  text.insert(text.find("end\t"), "f\t1000\t100\n");
  const Result<Recording> recording = ReadRecording("r", text);
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOf(*recording);
  CHECK(moment.before_history);
  CHECK(moment.requested == Bytes::Of(640));
  CHECK(moment.rows.front().phase == RunPhase::kBackward);  // the sixth allocation is still the seventh of the run
  CHECK(moment.rows[1].phase == RunPhase::kUpdate);
}

TEST_CASE("what is held when the card refuses") {
  std::string text = kTwoSteps;
  text.insert(text.find("a\t1500"), "o\t0\t9999\n");
  const Result<Recording> recording = ReadRecording("r", text);
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOfRefusal(*recording);
  CHECK(moment.requested == Bytes::Of(340));
  Bytes sum;
  for (const HeldRow& row : moment.rows) sum += row.bytes;
  CHECK(sum == moment.requested);
}

TEST_CASE("a run that allocated nothing") {
  const Result<Recording> recording = ReadRecording("r", "vramplan.recording/1\nend\texit\t1\n");
  REQUIRE(recording.ok());
  CHECK(MomentOf(*recording).rows.empty());
  CHECK(MomentOfRefusal(*recording).requested == Bytes());
}

}  // namespace
