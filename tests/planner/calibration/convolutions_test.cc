#include "planner/calibration/convolutions.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "planner/answers/prepare.h"
#include "planner/timeline/timeline.h"
#include "tests/support/fake_probe.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

Prepared Model(const std::string& name) {
  Question question;
  question.model = std::string(VRAMPLAN_SOURCE_DIR) + "/models/" + name;
  Result<Prepared> prepared = Prepare(question);
  REQUIRE(prepared.ok());
  return *std::move(prepared);
}

std::string Text(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) text += (text.empty() ? "" : " ") + std::to_string(number);
  return text;
}

TEST_CASE("every convolution of a step is one that was asked about") {
  // With a workspace of 3 MiB for each question, nothing is left to guess: both ends of the band are one.
  struct Row {
    const char* model;
    Precision precision;
  };
  for (const Row& row : {Row{"unet.onnx", Precision::kFp32}, Row{"resnet50.onnx", Precision::kAmpFp16}}) {
    CAPTURE(row.model);
    const Prepared prepared = Model(row.model);
    FakeProbe machine({.cards = {FakeT4()}});
    const auto session = std::move(machine.Open(0)).value();
    const auto measured = MeasureConvolutions(session.get(), ConvolutionsOf(prepared.layers, 2, {7, 5}));
    REQUIRE(measured.ok());
    TrainingSpec spec;
    spec.precision = row.precision;
    spec.capability = {7, 5};
    spec.measured_workspaces = std::make_shared<const MeasuredWorkspaces>(WorkspacesOf({.convolutions = *measured}));
    Notes notes;
    const Result<Timeline> timeline = Schedule(prepared.layers, spec, 2, &notes);
    REQUIRE(timeline.ok());
    CHECK(AtMost(*timeline).blocks == timeline->blocks);
    CHECK(std::ranges::count_if(timeline->blocks, [](const Block& block) {
            return block.category == Category::kWorkspace && block.bytes.At(2) == Bytes::MiB(3);
          }) > 50);
  }
}

TEST_CASE("the questions of a U-Net") {
  const Prepared prepared = Model("unet.onnx");
  const std::vector<ConvolutionQuestion> plain = ConvolutionsOf(prepared.layers, 4, {7, 5});
  const std::vector<ConvolutionQuestion> ampere = ConvolutionsOf(prepared.layers, 4, {8, 0});
  // fp32 and fp16; tf32, fp16 and bf16.
  CHECK(ampere.size() * 2 == plain.size() * 3);
  const auto of = [](const std::vector<ConvolutionQuestion>& all, Arithmetic type) {
    return std::count_if(all.begin(), all.end(), [&](const auto& one) { return one.call.type == type; });
  };
  CHECK(of(plain, Arithmetic::kTf32) == 0);
  CHECK(of(ampere, Arithmetic::kFp32) == 0);
  CHECK(of(ampere, Arithmetic::kBf16) == of(plain, Arithmetic::kFp32));
  // A transposed convolution is asked as the input gradient of the ordinary one, and kept under its own name.
  const auto up = std::find_if(plain.begin(), plain.end(), [](const ConvolutionQuestion& one) {
    return one.shape.pass == ConvolutionPass::kForward && one.call.pass == ConvolutionCall::Pass::kInputGradient;
  });
  REQUIRE(up != plain.end());
  CHECK(up->call.input == up->shape.output);
  CHECK(up->call.output == up->shape.input);
  CHECK(up->call.input[0] == 4);
  CHECK(up->call.input[2] == 2 * up->call.output[2]);
  CHECK(Text(up->call.stride) == "2 2");
  CHECK(up->call.filter[0] == up->shape.input[1]);
}

TEST_CASE("over one axis: as over two, of which the first has length 1") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 3, 16}), w = hand.Input("w", {4, 3, 3});
  hand.Add("conv1d", {x, w}, {Dim::Batch(), 4, 14});
  hand.attributes().Set("stride", std::vector<int64_t>{1});
  const std::vector<ConvolutionQuestion> questions = ConvolutionsOf(hand.layers, 5, {7, 5});
  REQUIRE(questions.size() == 6);
  const ConvolutionCall& call = questions[0].call;
  CHECK(Text(call.input) == "5 3 1 16");
  CHECK(Text(call.filter) == "4 3 1 3");
  CHECK(Text(call.output) == "5 4 1 14");
  CHECK(Text(call.padding) == "0 0");
  CHECK(Text(call.stride) == "1 1");
  CHECK(Text(call.dilation) == "1 1");
  CHECK(questions[0].shape.input == call.input);
}

TEST_CASE("once each, and none of what is not known") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 3, 16, 16}), w = hand.Input("w", {3, 3, 3, 3});
  const ValueId y = hand.Add("conv2d", {x, w}, {Dim::Batch(), 3, 14, 14});
  hand.Add("conv2d", {x, w}, {Dim::Batch(), 3, 14, 14});
  CHECK(ConvolutionsOf(hand.layers, 1, {7, 5}).size() == 6);
  hand.Add("conv2d", {y, w}, {Dim::Batch(), 3, Dim::Unknown(), 12});
  CHECK(ConvolutionsOf(hand.layers, 1, {7, 5}).size() == 6);
  hand.Add("relu", {y}, {Dim::Batch(), 3, 14, 14});
  CHECK(ConvolutionsOf(hand.layers, 1, {7, 5}).size() == 6);
}

}  // namespace
}  // namespace vramplan
