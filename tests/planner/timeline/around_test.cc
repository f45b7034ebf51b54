// What a script does beside its loop, against PyTorch's own counters. Recorded with PyTorch 2.10 on a pretend card:
// ResNet-18 at batch 8, fp32, Adam foreach, capability 7.5, three steps; requested bytes (peak of a step, and what is
// left after it). "teacher" is a second ResNet-18 in eval(), which runs under no_grad between forward and loss;
// "validation" is model.eval() under no_grad after the third step, its batch made before it.
#include "planner/timeline/around.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/timeline/timeline.h"
#include "tests/support/command_line.h"
#include "tests/support/one_operator.h"
#include "tests/support/truth.h"

using namespace vramplan;
using vramplan::testing::Do;
using vramplan::testing::Said;

namespace {

const std::string kZoo = VRAMPLAN_SOURCE_DIR "/tests/data/zoo/";

// The Nth of this member in the answer's steps.
int64_t InStep(const std::string& json, int step, const std::string& member) {
  size_t at = json.find("\"steps\": [");
  for (int i = 0; i < step; ++i) at = json.find("\"step\": ", at + 1);
  REQUIRE_NE(at, std::string::npos);
  const size_t value = json.find("\"" + member + "\": ", at);
  return std::stoll(json.substr(value + member.size() + 4));
}

std::string EstimatedJson(const std::string& options) {
  const Said said =
      Do("estimate " + kZoo + "resnet18.dynamo-train.onnx --framework pytorch@2.10 --format json " + options);
  REQUIRE_EQ(said.exit_code, 0);
  return said.out;
}

}  // namespace

TEST_CASE("around the loop: PyTorch's counters, to the byte") {
  struct Row {
    const char* options;
    int64_t first, steady;
  };
  for (const auto& [options, first, steady] : {
           Row{"--batch 8", 274772520, 368288616},
           Row{"--batch 8 --keep-loss-graph", 274772524, 368288620},
           Row{"--batch 8 --resident 100000000", 374772520, 468288616},
           Row{"--batch 8 --retain layer2", 274772520, 368288616},
           Row{"--batch 8 --retain bn1", 282455812, 368288616},
           Row{"--batch 8 --eval-batch 64", 274772520, 368288616},
       }) {
    CAPTURE(options);
    const std::string json = EstimatedJson(options);
    CHECK_EQ(InStep(json, 1, "requested"), first);
    CHECK_EQ(InStep(json, 2, "requested"), steady);
    CHECK_EQ(InStep(json, 3, "requested"), steady);
  }
  const std::string teacher = EstimatedJson("--batch 8 --second-model " + kZoo + "resnet18.dynamo-train.onnx");
  CHECK_EQ(InStep(teacher, 1, "requested"), 332050880);
  CHECK_EQ(InStep(teacher, 2, "requested"), 434118660);
  CHECK_EQ(InStep(teacher, 3, "requested"), 434118660);
}

// The hook of the script keeps what the module gives, with its graph, which backward() has released. What is left is
// read behind optimizer.step(); the script's own variable holds the model's output.
TEST_CASE("around the loop: an output that is kept is still there when the step ends, and in the next step's peak") {
  struct Row {
    const char *model, *kept;
    int64_t batch, peak, left;
  };
  for (const auto& [model, kept, batch, peak, left] : {
           Row{"resnet18", "", 8, 368288616, 210007652},
           Row{"resnet18", "layer2", 8, 368288616, 213218916},  // 8 x 128 x 28 x 28 floats
           Row{"resnet18", "bn1", 8, 368288616, 235697764},     // 8 x 64 x 112 x 112 floats
           Row{"resnet18", "fc", 8, 368288616, 210007652},      // the script has it anyway
           Row{"mlp", "", 64, 98607212, 82555172},
           Row{"mlp", "0", 64, 99119212, 83067172},  // 64 x 2000 floats: the update's peak holds them
           Row{"mlp", "1", 64, 99119212, 83067172},
           Row{"mlp", "4", 64, 98607212, 82555172},
       }) {
    CAPTURE(model);
    CAPTURE(kept);
    const auto layers =
        vramplan::testing::LayersOf(vramplan::testing::DataFolder() + "/zoo/" + model + ".dynamo-train.onnx", "");
    REQUIRE(layers);
    TrainingSpec spec = vramplan::testing::SpecFromWords("adam");
    spec.loss = Loss::kCrossEntropy;
    if (*kept != 0) spec.around.retain = {kept};
    const Result<Timeline> timeline = Schedule(*layers, spec, batch, nullptr);
    REQUIRE(timeline);
    Bytes level, highest, at_end;
    for (const Event& event : timeline->events) {
      if (event.kind == EventKind::kAllocate) level += (*timeline)[event.block].bytes.At(batch);
      if (event.kind == EventKind::kFree) level -= (*timeline)[event.block].bytes.At(batch);
      if (event.step == 2) highest = std::max(highest, level);
      if (event.step == 2 && event.kind == EventKind::kBeforeZeroGrad) at_end = level;
    }
    CHECK_EQ(highest, Bytes::Of(peak));
    CHECK_EQ(at_end, Bytes::Of(left));
  }
}

TEST_CASE("around the loop: a validation is two batches more, and the answer says which peak decides") {
  const std::string json = EstimatedJson("--batch 8 --eval-batch 64");
  CHECK_EQ(InStep(json, 4, "requested"), 612827076);
  CHECK_EQ(InStep(json, 5, "requested"), 613083076);
  const std::string line = "estimate " + kZoo + "resnet18.dynamo-train.onnx --framework pytorch@2.10 --batch 8 ";
  Said large = Do(line + "--eval-batch 64");
  const Said small = Do(line + "--eval-batch 2");
  // As one line, wherever it is broken.
  for (size_t at = large.out.find("\n  "); at != std::string::npos; at = large.out.find("\n  ", at + 1))
    large.out.replace(at, 3, " ");
  CHECK_NE(large.out.find("peak: the validation"), std::string::npos);
  CHECK_NE(large.out.find("a step requests 351.23 MiB and the validation 584.68 MiB: the validation decides"),
           std::string::npos);
  CHECK_NE(small.out.find(": the step decides"), std::string::npos);
  CHECK_NE(large.out.find("after the first step 97.31 MiB more, of which optimizer state 89."), std::string::npos);
  CHECK_NE(Do(line + "--eval-batch 64 --verbose").out.find("validation"), std::string::npos);
}

TEST_CASE("around the loop: losses that are summed in a validation without no_grad keep each batch's graph") {
  const std::string json = EstimatedJson("--batch 8 --mode eval --keep-loss-graph");
  const std::string plain = EstimatedJson("--batch 8 --mode eval");
  // PyTorch: 233,867,660 B with one batch, 406,521,488 B with two. Each has a graph of 172,653,828 B.
  const auto peak = [](const std::string& answer) {
    return std::stoll(answer.substr(answer.find("\"requested\": ", answer.find("\"peak\": {")) + 13));
  };
  CHECK_EQ(peak(json), 406521492);
  CHECK_LT(peak(plain), peak(json));
}

TEST_CASE("around the loop: fit and plan count with it, and what is wrong is said") {
  const std::string model = "MODELS/unet.onnx --gpu t4 --format json";
  const auto largest = [](const std::string& json) {
    const size_t at = json.find("\"largest_batch\": ");
    return std::stoll(json.substr(at + 17));
  };
  const int64_t alone = largest(Do("fit " + model).out);
  CHECK_LT(largest(Do("fit " + model + " --resident 4GiB").out), alone);
  CHECK_LT(largest(Do("fit " + model + " --second-model MODELS/unet.onnx").out), alone);
  struct Row {
    const char *line, *error;
  };
  for (const auto& [line, error] : {
           Row{"estimate MODELS/unet.onnx --retain nothing", "is called \"nothing\""},
           Row{"estimate MODELS/unet.onnx --eval-batch 0", "--eval-batch"},
           Row{"estimate MODELS/unet.onnx --mode infer --eval-batch 4", "beside a training"},
           Row{"estimate MODELS/unet.onnx --second-model nowhere.onnx", "nowhere.onnx"},
           Row{"estimate MODELS/resnet50.onnx --framework onnxruntime --resident 1GiB", "has no such setting"},
       }) {
    CAPTURE(line);
    const Said said = Do(line);
    CHECK_NE(said.exit_code, 0);
    CHECK_NE(said.err.find(error), std::string::npos);
  }
}
