#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

constexpr int64_t kSteps = 5, kHidden = 16;

// A node of the TorchScript exporter with its weights, and the squeeze behind it.
ValueId AddNode(LayersByHand& hand, ValueId x, ValueId state, int64_t input) {
  std::vector<ValueId> inputs = {x, state, state};
  for (const Shape& sizes : {Shape{64, input}, Shape{64, kHidden}}) {
    hand.layers.values.push_back({.name = "weight", .type = DType::kFloat32, .shape = sizes, .role = Role::kParameter});
    inputs.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
  }
  const ValueId y = hand.Add("lstm", inputs, {kSteps, 1, Dim::Batch(), kHidden});
  hand.attributes().Set("hidden_size", kHidden);
  return hand.Add("squeeze", {y}, {kSteps, Dim::Batch(), kHidden});
}

TEST_CASE("the nodes of a module's layers are one call, batch first again, without the zeros of its own") {
  LayersByHand hand("torch.nn.modules.rnn.LSTM");
  const ValueId x = hand.Input("x", {Dim::Batch(), kSteps, 8});
  const ValueId zeros = hand.Add("zeros", {}, {2, Dim::Batch(), kHidden});
  const ValueId part = hand.Add("slice", {zeros}, {1, Dim::Batch(), kHidden});
  const ValueId swapped = hand.Add("transpose", {x}, {kSteps, Dim::Batch(), 8});
  hand.attributes().Set("dim0", int64_t{0});
  hand.attributes().Set("dim1", int64_t{1});
  const ValueId second = AddNode(hand, AddNode(hand, swapped, part, 8), part, kHidden);
  const ValueId y = hand.Add("transpose", {second}, {Dim::Batch(), kSteps, kHidden});
  hand.attributes().Set("dim0", int64_t{0});
  hand.attributes().Set("dim1", int64_t{1});
  hand.layers.outputs = {y};
  GatherRecurrent(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "lstm");
  const Layer& call = hand.layers.layers[0];
  CHECK(call.inputs.size() == 3 + 4);
  CHECK(call.inputs[0] == x);
  CHECK_FALSE(call.inputs[1].valid());
  CHECK_FALSE(call.inputs[2].valid());
  CHECK(call.outputs[0] == y);
  REQUIRE(call.outputs.size() == 3);
  CHECK(hand.layers[call.outputs[2]].shape == Shape{2, Dim::Batch(), kHidden});
  CHECK(call.attributes.Int("num_layers", 0) == 2);
  CHECK(call.attributes.Int("batch_first", 0) == 1);
}

TEST_CASE("a state that the caller made is an operand") {
  LayersByHand hand("torch.nn.modules.rnn.LSTM");
  const ValueId x = hand.Input("x", {kSteps, Dim::Batch(), 8});
  const ValueId state = hand.Input("h", {1, Dim::Batch(), kHidden});
  hand.layers.outputs = {AddNode(hand, x, state, 8)};
  GatherRecurrent(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "lstm");
  CHECK(hand.layers.layers[0].inputs[1] == state);
  CHECK(hand.layers.layers[0].attributes.Int("batch_first", 1) == 0);
}

}  // namespace
}  // namespace vramplan
