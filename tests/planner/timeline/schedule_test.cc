#include <doctest/doctest.h>

#include "planner/timeline/timeline.h"
#include "tests/support/one_operator.h"

namespace vramplan::testing {
namespace {

// x [B, 4] -> linear [B, 3] by hand.
Layers OneLinear() {
  Layers layers;
  layers.values = {{"x", DType::kFloat32, Shape{Dim::Batch(), Dim(4)}, Role::kInput},
                   {"fc.weight", DType::kFloat32, Shape{Dim(3), Dim(4)}, Role::kParameter},
                   {"fc.bias", DType::kFloat32, Shape{Dim(3)}, Role::kParameter},
                   {"out", DType::kFloat32, Shape{Dim::Batch(), Dim(3)}, Role::kActivation}};
  layers.modules = {{"", "", ModuleId()}, {"fc", "", ModuleId{0}}};
  Layer linear;
  linear.op = linear.name = "linear";
  linear.inputs = {ValueId{0}, ValueId{1}, ValueId{2}};
  linear.outputs = {ValueId{3}};
  linear.module = ModuleId{1};
  layers.layers = {linear};
  layers.inputs = {ValueId{0}};
  layers.outputs = {ValueId{3}};
  layers.parameters = {ValueId{1}, ValueId{2}};
  return layers;
}

// "step phase: events", a line for each phase; marks are |.
std::string Text(const Timeline& timeline) {
  std::string text, heading;
  for (const Event& event : timeline.events) {
    const std::string now = std::to_string(event.step) + " " + std::string(Name(event.phase)) + ":";
    if (now != heading) {
      text += (heading.empty() ? "" : "\n") + now;
      heading = now;
    }
    const std::string block = std::to_string(event.block.value);
    switch (event.kind) {
      case EventKind::kAllocate:
        text += " " + block + "+" + std::to_string(timeline[event.block].bytes.At(timeline.batch).count());
        break;
      case EventKind::kFree:
        text += " " + block + "-";
        break;
      case EventKind::kRetag:
        text += " " + block + "=" + std::string(Name(event.category));
        break;
      case EventKind::kBeforeLoss:
        text += " loss:";
        break;
      case EventKind::kBeforeZeroGrad:
        text += " zero_grad:";
        break;
      default:
        text += " |";
    }
  }
  return text;
}

TEST_CASE("three steps of a linear layer with cross-entropy and SGD with momentum") {
  TrainingSpec spec = SpecFromWords("sgd-momentum");
  spec.loss = Loss::kCrossEntropy;
  const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
  REQUIRE(timeline);
  CHECK(timeline->batch == 8);
  CHECK(timeline->steps == 3);
  // Setup: weight, bias, x, target (int64). Forward: out, cuBLAS, cuBLASLt, log-softmax, the loss, its total weight.
  // Backward: ones, nll, softmax; weight and bias. `out` and `loss` live until the next forward and loss have made new
  // ones.
  CHECK(Text(*timeline) ==
        "0 setup: 0+48 1+12 2+128 3+64\n"
        "1 forward: 4+96 5+8519680 6+1048576 loss: 7+96 8+4 9+4 |\n"
        "1 backward: 10+4 11+96 9- 12+96 11- 7- 13+48 14+8519680 15+12 12- 15=gradients 13=gradients 10- |\n"
        "1 update: 16+48 17+12 zero_grad: 13- 15- |\n"
        "2 forward: 18+96 4- loss: 19+96 20+4 21+4 8- |\n"
        "2 backward: 22+4 23+96 21- 24+96 23- 19- 25+48 26+12 24- 26=gradients 25=gradients 22- |\n"
        "2 update: zero_grad: 25- 26- |\n"
        "3 forward: 27+96 18- loss: 28+96 29+4 30+4 20- |\n"
        "3 backward: 31+4 32+96 30- 33+96 32- 28- 34+48 35+12 33- 35=gradients 34=gradients 31- |\n"
        "3 update: zero_grad: 34- 35- |");
}

TEST_CASE("inference: two forwards; `out` of the first lives while the second runs") {
  TrainingSpec spec = SpecFromWords("infer");
  spec.loss = Loss::kNone;
  const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
  REQUIRE(timeline);
  CHECK(timeline->steps == 2);
  CHECK(Text(*timeline) ==
        "0 setup: 0+48 1+12 2+128\n"
        "1 forward: 3+96 4+8519680 5+1048576 | |\n"
        "2 forward: 6+96 3- | |");
}

TEST_CASE("an autoencoder's target is its input") {
  // The zoo's autoencoder: mse of a sigmoid against x, no second batch on the card.
  for (const char* last : {"sigmoid", "gelu"}) {
    Layers layers = OneLinear();
    layers.values[1].shape = Shape{Dim(4), Dim(4)};
    layers.values[2].shape = Shape{Dim(4)};
    layers.values[3].shape = Shape{Dim::Batch(), Dim(4)};
    layers.values.push_back({"image", DType::kFloat32, Shape{Dim::Batch(), Dim(4)}, Role::kActivation});
    Layer squeeze;
    squeeze.op = squeeze.name = last;
    squeeze.inputs = {ValueId{3}};
    squeeze.outputs = {ValueId{4}};
    layers.layers.push_back(squeeze);
    layers.outputs = {ValueId{4}};
    TrainingSpec spec = SpecFromWords("infer");
    spec.loss = Loss::kMse;
    const auto timeline = Schedule(layers, spec, 8, nullptr);
    REQUIRE(timeline);
    const bool same = std::string(last) == "sigmoid";
    CHECK(Text(*timeline).substr(0, 50).find(same ? "2+128\n" : "2+128 3+128\n") != std::string::npos);
  }
}

TEST_CASE("the same model at another batch: the same events, other sizes") {
  TrainingSpec spec = SpecFromWords("adam");
  spec.loss = Loss::kMse;
  const auto at8 = Schedule(OneLinear(), spec, 8, nullptr), at64 = Schedule(OneLinear(), spec, 64, nullptr);
  REQUIRE(at8);
  REQUIRE(at64);
  CHECK(at8->blocks == at64->blocks);
  REQUIRE(at8->events.size() == at64->events.size());
}

TEST_CASE("fewer steps, other categories") {
  TrainingSpec spec = SpecFromWords("adam");
  spec.loss = Loss::kCrossEntropy;
  spec.steps = 1;
  const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
  REQUIRE(timeline);
  std::map<Category, int64_t> bytes;
  for (const Block& block : timeline->blocks) bytes[block.category] += block.bytes.At(8).count();
  CHECK(bytes == std::map<Category, int64_t>{{Category::kParameters, 60},
                                             {Category::kInputs, 128 + 64},
                                             {Category::kActivations, 96 + 96 + 4 + 4},
                                             {Category::kOptimizerState, 120},
                                             {Category::kTemporaries, 4 + 96 + 96 + 60 + 60},
                                             {Category::kWorkspace, 8519680 * 2 + 1048576}});
}

TEST_CASE("what cannot be trained is an error") {
  const struct {
    const char* spec;
    Loss loss;
    const char* where;
  } rows[] = {{"adamax fused", Loss::kCrossEntropy, "--optimizer-impl"},
              {"adagrad fused", Loss::kCrossEntropy, "--optimizer-impl"}};
  for (const auto& row : rows) {
    TrainingSpec spec = SpecFromWords(row.spec);
    spec.loss = row.loss;
    const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
    REQUIRE_FALSE(timeline);
    CHECK(timeline.error().code == ErrorCode::kUsage);
    CHECK(timeline.error().subject == row.where);
  }
  Layers vector = OneLinear();
  vector.values[3].shape = Shape{Dim::Batch()};
  TrainingSpec spec = SpecFromWords("");
  spec.loss = Loss::kCrossEntropy;
  const auto timeline = Schedule(vector, spec, 8, nullptr);
  REQUIRE_FALSE(timeline);
  CHECK(timeline.error().subject == "--loss");
}

}  // namespace
}  // namespace vramplan::testing
