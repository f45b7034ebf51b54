#include "planner/solver/step_problem.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "planner/allocator/replay.h"
#include "planner/remat/solve.h"
#include "planner/remat/text.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

struct StepProblemCase {
  const char* file;
  const char* dims;
  int64_t batch;
};

Result<Layers> LayersOf(const StepProblemCase& one) {
  return testing::LayersOf(std::string(VRAMPLAN_SOURCE_DIR) + "/models/" + one.file + ".onnx", one.dims);
}

// Three linears, two relus, 512000 B of activations at batch 64 of 2000 floats; a T4's rates.
TEST_CASE("a perceptron by hand: who reads whom, and what is held") {
  const Result<Layers> layers = LayersOf({"mlp", "", 64});
  REQUIRE(layers.ok());
  const Result<RematProblem> problem = StepProblem(*layers, TrainingSpec(), RatesOf(Card()), 64);
  REQUIRE(problem.ok());
  CHECK_EQ(WriteProblem(*problem),
           "16 24\n"
           "31605 512000\n"  // linear
           "3200 512000\n"   // relu
           "31605 256000\n"  // linear
           "1600 256000\n"   // relu
           "933 2560\n"      // linear
           "16 2568\n"       // loss
           "0 2560\n"        // scratch of the loss' backward
           "32 2564\n"       // its gradients
           "933 40040\n"     // of the third linear's parameters,
           "933 256000\n"    // and of its input
           "3200 256000\n"   // of relu
           "31605 8004000\n"
           "31605 512000\n"
           "6400 512000\n"
           "31605 8008000\n"  // the first linear: its input needs none
           "0 0\n"            // the update
           "0 1\n1 2\n2 3\n3 4\n4 5\n5 6\n5 7\n6 7\n3 8\n7 8\n3 9\n7 9\n3 10\n9 10\n1 11\n10 11\n1 12\n10 12\n"
           "1 13\n12 13\n13 14\n8 15\n11 15\n14 15\n");
}

// With the parameters, which are there all the time, the highest sum of the problem is the peak that the step requests.
TEST_CASE("kept as it is, the problem holds what the step's replay requests") {
  for (const StepProblemCase& one : {StepProblemCase{"resnet50", "", 8}, StepProblemCase{"unet", "", 4},
                                     StepProblemCase{"gpt_small", "sequence=256", 4}}) {
    CAPTURE(one.file);
    const Result<Layers> layers = LayersOf(one);
    REQUIRE(layers.ok());
    TrainingSpec spec;
    spec.optimizer = Optimizer::kSgd;
    const Result<RematProblem> problem = StepProblem(*layers, spec, RatesOf(Card()), one.batch);
    REQUIRE(problem.ok());
    Notes notes;
    const Result<Timeline> timeline = Schedule(*layers, spec, one.batch, &notes);
    REQUIRE(timeline.ok());
    int64_t fixed = 0;
    for (const Block& block : timeline->blocks) {
      const bool stays = block.category == Category::kParameters || block.category == Category::kBuffers ||
                         block.category == Category::kInputs;
      if (stays) fixed += block.bytes.At(one.batch).count();
    }
    for (const ValueId id : layers->outputs)
      fixed += SizeExpr::Of((*layers)[id].type, (*layers)[id].shape.Elements()).At(one.batch).count();
    const double requested = static_cast<double>(
        Replay(*timeline, one.batch, AllocatorConfig(), Bytes::Max()).steps.back().peak.requested.count());
    const Result<RematOutcome> kept = Simulate(*problem, KeepAll(*problem));
    REQUIRE(kept.ok());
    CHECK_EQ(static_cast<double>(fixed + kept->peak) / requested, doctest::Approx(1).epsilon(0.03));
  }
}

// On budgets of 90 to 30 % of what keeping everything takes.
TEST_CASE("accuracy of rematerialisation: steps of models, gap to the bound") {
  int feasible = 0, one_percent = 0, two_percent = 0;
  for (const StepProblemCase& one : {StepProblemCase{"resnet50", "", 16}, StepProblemCase{"unet", "", 8},
                                     StepProblemCase{"gpt_small", "sequence=256", 8}}) {
    CAPTURE(one.file);
    const Result<Layers> layers = LayersOf(one);
    REQUIRE(layers.ok());
    const Result<RematProblem> problem = StepProblem(*layers, TrainingSpec(), RatesOf(Card()), one.batch);
    REQUIRE(problem.ok());
    const int64_t keep_all = Simulate(*problem, KeepAll(*problem))->peak;
    for (int percent = 90; percent >= 30; percent -= 15) {
      const RematAnswer answer =
          Solve(*problem, {.budget = keep_all / 100 * percent, .seconds = 0.25, .real_clock = false});
      MESSAGE(std::string(one.file), " ", percent, " %: ", answer.outcome ? 100 * answer.gap() : -1, " %");
      if (answer.impossible()) continue;
      ++feasible;
      one_percent += answer.outcome && answer.gap() <= 0.01 ? 1 : 0;
      two_percent += answer.outcome && answer.gap() <= 0.02 ? 1 : 0;
    }
  }
  CHECK_GE(feasible, 11);
  CHECK_GE(one_percent, feasible * 0.8);
  CHECK_GE(two_percent, feasible * 0.9);
}

}  // namespace
}  // namespace vramplan
