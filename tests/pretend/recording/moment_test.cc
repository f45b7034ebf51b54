#include "pretend/recording/moment.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

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

TEST_CASE("a run that ends by itself without an optimizer has no steps") {
  const std::string run =
      "vramplan.recording/1\nmark\tforward\t1\tinfer.py\t7\tmain\tNet\nlast\t2\t140\t140\t140\t0\t0\t0\t0\t0\t0\t0\n"
      "stack\t0\t\na\t1000\t100\t0\t\na\t1100\t40\t0\tconv\n";
  for (const char* end : {"end\texit\t1\n", "end\tseconds\t1\n", "failed\tE\tx\nend\texit\t1\n"}) {
    const Result<Recording> recording = ReadRecording("r", run + end);
    REQUIRE(recording.ok());
    CHECK(WhenText(MomentOf(*recording)) == "in the forward");
  }
}

TEST_CASE("the highest moment: who holds it, from where, in which phase") {
  const Result<Recording> recording = ReadRecording("r", kTwoSteps);
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOf(*recording);
  CHECK(moment.requested == Bytes::Of(740));
  CHECK(moment.reserved == Bytes::Of(1000));
  CHECK(moment.step == 2);
  CHECK(moment.phase == Phase::kBackward);
  CHECK(!moment.before_history);
  const CodePlace sgd = {"/v/site-packages/torch/optim/sgd.py", 55, "_init_group"};
  CHECK(moment.place == sgd);  // no line but PyTorch's
  const std::vector<HeldRow> rows = {
      {sgd, {}, "", HeldKind::kUntold, Phase::kBackward, 1, Bytes::Of(300)},
      {{"train.py", 12, "main"}, {}, "", HeldKind::kUntold, Phase::kUpdate, 1, Bytes::Of(200)},
      {{"train.py", 6, "main"}, {}, "", HeldKind::kUntold, Phase::kSetup, 1, Bytes::Of(100)},
      // The line that called backward().
      {{"train.py", 11, "main"}, {}, "", HeldKind::kUntold, Phase::kBackward, 1, Bytes::Of(100)},
      {{"/v/site-packages/timm/layers.py", 20, "forward"},
       {"train.py", 6, "main"},
       "conv",
       HeldKind::kUntold,
       Phase::kForward,
       1,
       Bytes::Of(40)},
  };
  CHECK(moment.rows == rows);
  const std::array<Bytes, kPhases> peaks = PhasePeaks(*recording);
  CHECK(*std::ranges::max_element(peaks) == moment.requested);
  CHECK(peaks[static_cast<size_t>(moment.phase)] == moment.requested);
  CHECK(peaks[static_cast<size_t>(Phase::kSetup)] == Bytes::Of(100));
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
  CHECK(moment.rows.front().phase == Phase::kBackward);  // the sixth allocation is still the seventh of the run
  CHECK(moment.rows[1].phase == Phase::kUpdate);
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

TEST_CASE("a refusal before anything was allocated in the backward is the backward's") {
  std::string text = kTwoSteps;
  const size_t marks = text.find("mark\tafter-backward\t7");
  text.replace(text.find("mark\tbackward\t5"), marks - text.find("mark\tbackward\t5"),
               "mark\tbackward\t7\ttrain.py\t11\tmain\nout-of-memory\t7\t99\t1000\t1\t740\t740\t740\t\t0\t\n");
  text.insert(text.find("f\t1600"), "o\t0\t99\n");
  const Result<Recording> recording = ReadRecording("r", text);
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOfRefusal(*recording);
  CHECK(WhenText(moment) == "in the backward of step 2");
  CHECK(moment.place == CodePlace{"train.py", 11, "main"});
}

TEST_CASE("what a closure of step() computes is forward and backward") {
  const Result<Recording> recording = ReadRecording("r",
                                                    "vramplan.recording/1\n"
                                                    "mark\tupdate\t1\tloop.py\t5\tstep\n"
                                                    "mark\tafter-update\t1\tloop.py\t5\tstep\n"
                                                    "mark\tforward\t1\ttrain.py\t8\ttraining_step\tnet\n"
                                                    "mark\tbackward\t2\tloop.py\t6\tclosure\n"
                                                    "mark\tafter-backward\t3\tloop.py\t6\tclosure\n"
                                                    "mark\tupdate\t3\tloop.py\t5\tstep\n"
                                                    "mark\tafter-update\t4\tloop.py\t5\tstep\n"
                                                    "step\t1\t4\t4\t4\t4\t4\t4\t4\t1\n"
                                                    "last\t4\t4\t4\t4\t0\t0\t0\t0\t0\t0\t0\n"
                                                    "stack\t0\t\n"
                                                    "a\t1\t8\t0\t\na\t2\t4\t0\t\na\t3\t2\t0\t\na\t4\t1\t0\t\n"
                                                    "end\texit\t1\n");
  REQUIRE(recording.ok());
  using enum Phase;
  std::vector<Phase> phases;
  for (const HeldRow& row : MomentOf(*recording).rows) phases.push_back(row.phase);
  CHECK(phases == std::vector{kSetup, kForward, kBackward, kUpdate});
}

TEST_CASE("an evaluation is told from the forwards of steps") {
  // Of each character of a run a mark: f, e, i the step's forward, in eval(), without gradients; F, E, I the same from
  // another line; G that line with another module; b a backward, s the end of a step. Upper case below: an evaluation.
  struct Row {
    const char* run;
    const char* evaluations;
  };
  for (const Row& row : {
           Row{"fbsfbs", "......"}, Row{"fbsfbsII", "......xx"},  // without gradients
           Row{"ifbsifbsi", "........."},                         // a teacher's, in each step
           Row{"fbsfbsE", "......x"},                             // in eval(), with gradients
           Row{"fbsfbsF", "......."},                             // may be the next part of the training
           Row{"fbsfbsFF", "......xx"},                           // no backward in between
           Row{"fbsfbsFG", "........"},                           // a body and a head
           Row{"fbsfbsFbFb", ".........."},                       // the next part of the training
           Row{"fbsFFfbs", "...xx..."},                           // then training goes on
           Row{"fbsFbsfbs", "........."},                         // another loop
           Row{"FFF", "..."},                                     // an inference
           Row{"Ifbsfbs", "x......"},                             // before the first step
       }) {
    CAPTURE(row.run);
    Recording recording;
    int64_t n = 0;
    for (const char c : std::string(row.run)) {
      Mark mark;
      mark.allocations = ++n;
      mark.steps = static_cast<int64_t>(recording.steps.size());
      mark.kind = c == 'b' || c == 's'   ? MarkKind::kBackward
                  : c == 'i' || c == 'I' ? MarkKind::kInference
                  : c == 'e' || c == 'E' ? MarkKind::kForwardOfEval
                                         : MarkKind::kForward;
      if (c == 's') mark.kind = MarkKind::kAfterUpdate;
      mark.place.line = c >= 'a' ? 1 : 2;
      mark.module = c == 'G' ? "head" : "net";
      recording.marks.push_back(mark);
      if (c == 's') recording.steps.push_back({static_cast<int64_t>(recording.steps.size()) + 1, n, {}, {}, 0});
    }
    std::string evaluations;
    for (const bool evaluation : EvaluationsOf(recording)) evaluations += evaluation ? 'x' : '.';
    CHECK(evaluations == row.evaluations);
  }
  HighMoment moment;
  moment.phase = Phase::kEvaluation;
  CHECK(WhenText(moment) == "in the evaluation before step 1");
  moment.step = 50;
  moment.keeps_graphs = true;
  CHECK(WhenText(moment) == "in the evaluation after step 50, with gradients");
}

TEST_CASE("what no_grad would free is what the modules of an evaluation hold") {
  const Result<Recording> recording = ReadRecording("r",
                                                    "vramplan.recording/1\n"
                                                    "mark\tforward\t1\tt.py\t6\tm\tnet\n"
                                                    "mark\tbackward\t2\tt.py\t6\tm\n"
                                                    "mark\tafter-backward\t2\tt.py\t6\tm\n"
                                                    "step\t1\t2\t4\t4\t4\t4\t4\t4\t1\n"
                                                    "mark\tforward-of-eval\t3\tt.py\t10\tm\tnet\n"
                                                    "last\t5\t4\t4\t4\t0\t0\t0\t0\t0\t0\t0\n"
                                                    "stack\t0\t\n"
                                                    "a\t1\t8\t0\t\na\t2\t4\t0\tnet\n"
                                                    "a\t3\t16\t0\t\na\t4\t32\t0\t0\na\t5\t64\t0\t1\n"
                                                    "end\texit\t1\n");
  REQUIRE(recording.ok());
  const HighMoment moment = MomentOf(*recording);
  CHECK(WhenText(moment) == "in the evaluation after step 1, with gradients");
  CHECK(moment.of_graphs == Bytes::Of(96));
}

TEST_CASE("an inference has no step") {
  const std::string text =
      "vramplan.recording/1\nmark\tinference\t1\tt.py\t6\tm\tnet\nlast\t2\t4\t4\t4\t0\t0\t0\t0\t0\t0\t0\n"
      "stack\t0\t\na\t1\t8\t0\t\na\t2\t4\t0\tnet\nend\texit\t1\n";
  CHECK(WhenText(MomentOf(ReadRecording("r", text).value())) == "in the forward");
  // One that dies with gradients may have been the first step of a training.
  std::string died = text;
  died.replace(died.find("inference"), 9, "forward");
  CHECK(WhenText(MomentOf(ReadRecording("r", died).value())) == "in the forward");
  died.insert(died.find("last"), "out-of-memory\t2\t99\t9\t9\t9\t9\t9\tt.py\t6\tm\n");
  died.insert(died.find("end\t"), "o\t0\t99\n");
  CHECK(WhenText(MomentOfRefusal(ReadRecording("r", died).value())) == "in the forward of step 1");
}

TEST_CASE("a run that allocated nothing") {
  const Result<Recording> recording = ReadRecording("r", "vramplan.recording/1\nend\texit\t1\n");
  REQUIRE(recording.ok());
  CHECK(MomentOf(*recording).rows.empty());
  CHECK(MomentOfRefusal(*recording).requested == Bytes());
}

}  // namespace
