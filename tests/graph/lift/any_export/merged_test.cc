#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("a slice that only slices read is repeated for each of them") {
  // swin's patch merging: x[0::2, 0::2] and x[0::2, 1::2]; the recorded backward has two slice_backward for each.
  LayersByHand hand;
  const ValueId x = hand.Input("x", {8, 8});
  const ValueId rows = hand.Add("slice", {x}, {4, 8});
  const ValueId a = hand.Add("slice", {rows}, {4, 4}), b = hand.Add("slice", {rows}, {4, 4});
  hand.layers.outputs = {hand.Add("cat", {a, b}, {8, 4})};
  SplitMergedSlices(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "slice slice slice slice cat");
  CHECK(hand.layers.layers[1].inputs[0] == rows);
  CHECK(hand.layers.layers[3].inputs[0] == hand.layers.layers[2].outputs[0]);
  CHECK(hand.layers[hand.layers.layers[2].outputs[0]].shape == Shape{4, 8});
}

TEST_CASE("a slice that something else reads has a name and stays one") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {8, 8});
  const ValueId rows = hand.Add("slice", {x}, {4, 8});
  const ValueId a = hand.Add("slice", {rows}, {4, 4}), b = hand.Add("slice", {rows}, {4, 4});
  hand.layers.outputs = {hand.Add("cat", {a, b, rows}, {4, 16})};
  SplitMergedSlices(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "slice slice slice cat");
}

TEST_CASE("an activation shared by two modules side by side ran in both") {
  for (const bool returned : {false, true}) {
    LayersByHand hand;
    hand.layers.modules.push_back({.path = "b", .class_name = "", .parent = ModuleId{0}});
    const ValueId x = hand.Input("x", {4, 8});
    const ValueId made = returned ? hand.Add("linear", {x}, {4, 8}) : x;  // then the module made what it activates
    const ValueId act = hand.Add("leaky_relu", {made}, {4, 8});
    const ValueId a = hand.Add("linear", {act}, {4, 8});
    const ValueId b = hand.Add("linear", {act}, {4, 8});
    hand.layers.layers.back().module = ModuleId{2};
    hand.layers.outputs = {hand.Add("add", {a, b}, {4, 8})};
    hand.layers.layers.back().module = ModuleId{0};
    SplitMergedActivations(&hand.layers);
    CHECK(OperatorsOf(hand.layers) ==
          (returned ? "linear leaky_relu linear linear add" : "leaky_relu linear leaky_relu linear add"));
  }
}

TEST_CASE("an activation without its operand, and one of another's copy") {
  LayersByHand hand;
  hand.layers.modules.push_back({.path = "b", .class_name = "", .parent = ModuleId{0}});
  const ValueId x = hand.Input("x", {4, 8});
  const ValueId act = hand.Add("tanh", {x}, {4, 8});
  const ValueId a = hand.Add("linear", {act}, {4, 8});
  const ValueId b = hand.Add("sigmoid", {act}, {4, 8});
  hand.layers.layers.back().module = ModuleId{2};
  const ValueId lost = hand.Add("tanh", {}, {4, 8});
  hand.layers.outputs = {hand.Add("add", {a, b}, {4, 8}), lost};
  hand.layers.layers.back().module = ModuleId{0};
  SplitMergedActivations(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "tanh linear tanh sigmoid tanh add");
}

}  // namespace
}  // namespace vramplan
