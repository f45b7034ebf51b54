#include <doctest/doctest.h>

#include "graph/layers/trained.h"
#include "planner/timeline/timeline.h"
#include "tests/support/layers_by_hand.h"
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
      case EventKind::kAfterZeroGrad:
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

// Layers::parameters, of which some are frozen: role kBuffer (graph/lift/any_export/passes.h).
std::string WithFrozen(const std::vector<ValueId>& frozen, Optimizer optimizer = Optimizer::kSgdMomentum) {
  Layers layers = OneLinear();
  for (const ValueId id : frozen) SetTrained(&layers, id, false);
  TrainingSpec spec = SpecFromWords("sgd-momentum");
  spec.optimizer = optimizer;
  spec.loss = Loss::kCrossEntropy;
  spec.steps = 1;
  const auto timeline = Schedule(layers, spec, 8, nullptr);
  return timeline.ok() ? Text(*timeline) : ToString(timeline.error());
}

// requires_grad_(False) on one of the two: no gradient and no state of it (PyTorch 2.10, recorded: the same events).
TEST_CASE("a frozen weight or bias has neither gradient nor state") {
  const std::string forward =
      "0 setup: 0+48 1+12 2+128 3+64\n"
      "1 forward: 4+96 5+8519680 6+1048576 loss: 7+96 8+4 9+4 |\n"
      "1 backward: 10+4 11+96 9- 12+96 11- 7-";
  CHECK(WithFrozen({ValueId{1}}) == forward +
                                        " 13+12 12- 13=gradients 10- |\n"
                                        "1 update: 14+12 zero_grad: 13- |");
  CHECK(WithFrozen({ValueId{2}}) == forward +
                                        " 13+48 14+8519680 12- 13=gradients 10- |\n"
                                        "1 update: 15+48 zero_grad: 13- |");
  // Adagrad makes its state in the constructor: of what it was given, which is what is trained.
  CHECK(WithFrozen({ValueId{1}}, Optimizer::kAdagrad).starts_with("0 setup: 0+48 1+12 2+12 3+128 4+64\n"));
  CHECK(WithFrozen({ValueId{1}, ValueId{2}}).find("no trained parameter takes part in the loss") != std::string::npos);
}

TEST_CASE("a shape that the rules compute and the file does not say is told, once") {
  for (const bool right : {true, false}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 4, 6});
    const Shape turned = right ? Shape{Dim::Batch(), 6, 4} : Shape{Dim::Batch(), 4, 6};
    const ValueId y = hand.Add("permute", {x}, turned);
    hand.attributes().Set("dims", std::vector<int64_t>{0, 2, 1});
    hand.layers.outputs = {hand.Add("relu", {y}, turned)};
    Notes notes;
    TrainingSpec spec = SpecFromWords("sgd");
    spec.mode = Mode::kInfer;
    REQUIRE(Schedule(hand.layers, spec, 2, &notes));
    CHECK(std::count_if(notes.all().begin(), notes.all().end(),
                        [](const Note& note) { return note.code == "results-part"; }) == (right ? 0 : 1));
  }
}

TEST_CASE("frozen parameters are parameters on the card") {
  Layers layers = OneLinear();
  SetTrained(&layers, ValueId{1}, false);
  const auto timeline = Schedule(layers, SpecFromWords("sgd"), 8, nullptr);
  REQUIRE(timeline);
  CHECK(timeline->blocks[0].bytes.At(8) == Bytes::Of(48));
  CHECK(timeline->events[0].category == Category::kParameters);
  CHECK(timeline->events[1].category == Category::kParameters);
}

// One step of the linear layer with what the spec says around it.
std::string FirstSteps(TrainingSpec spec, int steps) {
  spec.loss = Loss::kCrossEntropy;
  spec.steps = steps;
  const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
  REQUIRE(timeline);
  return Text(*timeline);
}

TEST_CASE("two micro-batches: the loss is divided, the second backward adds to .grad in place") {
  TrainingSpec spec = SpecFromWords("sgd");
  spec.accumulate = 2;
  // 10 is the loss divided; 21-, 20- and 22- of the second backward: gradients of weight and bias, added and let go.
  CHECK(FirstSteps(spec, 1) ==
        "0 setup: 0+48 1+12 2+128 3+64\n"
        "1 forward: 4+96 5+8519680 6+1048576 loss: 7+96 8+4 9+4 10+4 8-\n"
        "1 backward: 11+4 12+4 13+96 12- 9- 14+96 13- 7- 15+48 16+8519680 17+12 14- 17=gradients 15=gradients 11-\n"
        "1 forward: 18+96 4- loss: 19+96 20+4 21+4 22+4 20- 10- |\n"
        "1 backward: 23+4 24+4 25+96 24- 21- 26+96 25- 19- 27+48 28+12 26- 28- 27- 23- |\n"
        "1 update: zero_grad: 15- 17- |");
  spec.accumulate = 1000;  // three are laid out
  const std::string many = FirstSteps(spec, 1);
  spec.accumulate = 3;
  CHECK(many == FirstSteps(spec, 1));
}

TEST_CASE("where zero_grad stands, and gradients that stay") {
  TrainingSpec spec = SpecFromWords("sgd");
  // The first step, with what stands before its forward and before its backward.
  const auto first = [](const std::string& forward, const std::string& backward) {
    return "0 setup: 0+48 1+12 2+128 3+64\n1 forward:" + forward +
           " 4+96 5+8519680 6+1048576 loss: 7+96 8+4 9+4 |\n1 backward:" + backward +
           " 10+4 11+96 9- 12+96 11- 7- 13+48 14+8519680 15+12 12- 15=gradients 13=gradients 10- |\n1 update:";
  };
  CHECK(FirstSteps(spec, 1) == first("", "") + " zero_grad: 13- 15- |");
  spec.zero_grad = ZeroGrad::kStart;
  CHECK(FirstSteps(spec, 2) ==
        first(" zero_grad:", "") +
            " |\n2 forward: zero_grad: 13- 15- 16+96 4- loss: 17+96 18+4 19+4 8- |\n"
            "2 backward: 20+4 21+96 19- 22+96 21- 17- 23+48 24+12 22- 24=gradients 23=gradients 20- |\n2 update: |");
  spec.zero_grad = ZeroGrad::kAfterForward;
  CHECK(FirstSteps(spec, 2) ==
        first("", " zero_grad:") +
            " |\n2 forward: 16+96 4- loss: 17+96 18+4 19+4 8- |\n"
            "2 backward: zero_grad: 13- 15- 20+4 21+96 19- 22+96 21- 17- 23+48 24+12 22- 24=gradients 23=gradients 20- "
            "|\n2 update: |");
  spec.set_to_none = false;
  CHECK(FirstSteps(spec, 2) == first("", "") +
                                   " |\n2 forward: 16+96 4- loss: 17+96 18+4 19+4 8- |\n"
                                   "2 backward: 20+4 21+96 19- 22+96 21- 17- 23+48 24+12 22- 24- 23- 20- |\n"
                                   "2 update: |");
}

TEST_CASE("an averaged copy: before the inputs, and what its update makes") {
  TrainingSpec spec = SpecFromWords("sgd");
  const auto update = [&](Ema ema) {
    spec.ema = ema;
    const std::string text = FirstSteps(spec, 2);
    CHECK(text.starts_with("0 setup: 0+48 1+12 2+48 3+12 4+128 5+64\n"));
    return text.substr(text.rfind("2 update: "));
  };
  CHECK(update(Ema::kModelEmaV3) == "2 update: zero_grad: 25- 26- |");
  CHECK(update(Ema::kAveragedModel) == "2 update: 27+8 27- zero_grad: 25- 26- |");  // n_averaged.to(device)
  CHECK(update(Ema::kModelEmaV2) ==
        "2 update: 33+48 34+48 35+48 33- 34- 35- 36+12 37+12 38+12 36- 37- 38- zero_grad: 31- 32- |");
}

TEST_CASE("state and averages belong to the layer of their parameter, temporaries of the step to none") {
  TrainingSpec spec = SpecFromWords("adam");
  spec.loss = Loss::kCrossEntropy;
  spec.ema = Ema::kModelEmaV2;
  const auto timeline = Schedule(OneLinear(), spec, 8, nullptr);
  REQUIRE(timeline);
  int owned = 0;
  for (const Block& block : timeline->blocks) {
    if (block.category != Category::kOptimizerState) {
      CHECK(block.origin.owner == -1);
    } else {
      CHECK(block.origin.owner == 0);
      CHECK(block.origin.layer == -1);
      ++owned;
    }
  }
  CHECK(owned == 6);  // two moments and a copy of weight and bias
}

TEST_CASE("clipping comes between the backward and the step, after unscale_") {
  TrainingSpec spec = SpecFromWords("sgd");
  spec.clip_grad_norm = 1;
  const std::string text = FirstSteps(spec, 1);
  CHECK(text.substr(text.rfind("1 update: ")) ==
        "1 update: 16+8 17+4 18+4 16- 19+8 20+4 19- 18- 17- 21+4 22+4 23+4 22- 21- 24+4 23- 24- 20- zero_grad: 13- 15- "
        "|");
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

TEST_CASE("biases that attention picked once stay in its module, unless it trains") {
  // levit_128 at batch 2, PyTorch 2.10, inference: requested peaks 54'011'280 and 55'662'672, exact on both exports
  Layers layers = OneLinear();
  layers.values.push_back({"attn.attention_biases", DType::kFloat32, Shape{Dim(2), Dim(64)}, Role::kParameter});
  layers.values.push_back({"attn.attention_bias_idxs", DType::kInt64, Shape{Dim(16)}, Role::kBuffer});
  layers.values.push_back({"bias", DType::kFloat32, Shape{Dim(2), Dim(16)}, Role::kActivation});
  layers.parameters.push_back(ValueId{4});
  layers.buffers.push_back(ValueId{5});
  Layer index;
  index.op = index.name = "index";
  index.inputs = {ValueId{4}, ValueId{5}};
  index.outputs = {ValueId{6}};
  layers.layers.push_back(index);
  TrainingSpec spec = SpecFromWords("infer");
  spec.loss = Loss::kNone;
  const auto timeline = Schedule(layers, spec, 8, nullptr);
  REQUIRE(timeline);
  const auto picked = [&](int step) {
    int blocks = 0;
    for (const Event& event : timeline->events) {
      const Origin& origin = (*timeline)[event.block].origin;
      blocks += event.kind == EventKind::kAllocate && event.step == step && origin.layer == 1 ? 1 : 0;
    }
    return blocks;
  };
  CHECK(picked(1) > 0);
  CHECK(picked(2) == 0);
}

TEST_CASE("evaluation without no_grad: the tape of the first forward lives while the second runs") {
  // resnet50 at batch 8, model.eval(), PyTorch 2.10: requested peaks 799'317'384 and 1'481'808'520, exact on the
  // export; vit_b_16, gpt2 and unet likewise.
  Layers layers = OneLinear();
  layers.values.push_back({"act", DType::kFloat32, Shape{Dim::Batch(), Dim(3)}, Role::kActivation});
  Layer gelu;
  gelu.op = gelu.name = "gelu";
  gelu.inputs = {ValueId{3}};
  gelu.outputs = {ValueId{4}};
  layers.layers.push_back(gelu);
  layers.outputs = {ValueId{4}};
  TrainingSpec spec = SpecFromWords("infer");
  spec.loss = Loss::kNone;
  const auto without = Schedule(layers, spec, 8, nullptr);
  spec.mode = Mode::kEval;
  const auto with = Schedule(layers, spec, 8, nullptr);
  REQUIRE(without);
  REQUIRE(with);
  CHECK(Text(*without) ==
        "0 setup: 0+48 1+12 2+128\n"
        "1 forward: 3+96 4+8519680 5+1048576 6+96 3- | |\n"
        "2 forward: 7+96 8+96 7- 6- | |");
  CHECK(Text(*with) ==
        "0 setup: 0+48 1+12 2+128\n"
        "1 forward: 3+96 4+8519680 5+1048576 6+96 | |\n"
        "2 forward: 7+96 8+96 3- 6- | |");
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
              {"adagrad fused", Loss::kCrossEntropy, "--optimizer-impl"},
              {"adafactor-hf foreach", Loss::kCrossEntropy, "--optimizer-impl"},
              {"adamw-8bit for-loop", Loss::kCrossEntropy, "--optimizer-impl"},
              {"adamw-8bit fused fp64", Loss::kCrossEntropy, "--optimizer"},
              {"adafactor pytorch@2.4", Loss::kCrossEntropy, "--optimizer"},
              {"muon pytorch@2.8", Loss::kCrossEntropy, "--optimizer"}};
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

TEST_CASE("a write into what shows a parameter leaves nothing behind for the next step") {
  // PyTorch refuses it; a tape that the parameter kept would run a second time on what the first step let go.
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId shown = hand.Add("select", {hand.Parameter("table", {2, 8})}, {8});
  hand.attributes().Set("dim", int64_t{0});
  const ValueId scaled = hand.Add("mul", {shown, hand.Parameter("scale", {8})}, {8});
  hand.attributes().Set("inplace", int64_t{1});
  hand.layers.outputs = {hand.Add("mul", {x, scaled}, {Dim::Batch(), 8})};
  TrainingSpec spec;
  spec.steps = 3;
  spec.loss = Loss::kMse;
  Notes notes;
  CHECK(Schedule(hand.layers, spec, 4, &notes).ok());
}

}  // namespace
}  // namespace vramplan::testing
