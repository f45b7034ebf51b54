#include <doctest/doctest.h>

#include "graph/lift/dynamo/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// Two calls of one class: norm and convolution of what was given, which in the second is joined first.
Layers TwoCalls(const char* second_class, const char* last) {
  const Shape shape{Dim::Batch(), 8, 4, 4};
  LayersByHand hand("mine.DenseLayer");
  hand.layers.modules.push_back({.path = "n", .class_name = second_class, .parent = ModuleId{0}});
  const ValueId x = hand.Input("x", shape);
  const ValueId first = hand.Add("conv2d", {hand.Add("batch_norm", {x}, shape)}, shape);
  const ValueId joined = hand.Add("cat", {x, first}, {Dim::Batch(), 16, 4, 4});
  const ValueId norm = hand.Add("batch_norm", {joined}, {Dim::Batch(), 16, 4, 4});
  hand.layers.outputs = {hand.Add(last, {norm}, shape)};
  for (size_t l = 0; l < hand.layers.layers.size(); ++l) {
    hand.layers.layers[l].evidence = Evidence::kProvenance;
    if (l >= 2) hand.layers.layers[l].module = ModuleId{2};
  }
  return hand.layers;
}

TEST_CASE("the first layer of a dense block copies the one tensor of its list") {
  Layers layers = TwoCalls("mine.DenseLayer", "conv2d");
  RestoreSingleJoins(&layers);
  CHECK(OperatorsOf(layers) == "cat batch_norm conv2d cat batch_norm conv2d");
  const Layer& join = layers.layers[0];
  CHECK(join.inputs == layers.inputs);
  CHECK(join.module == ModuleId{1});
  CHECK(layers[join.outputs[0]].shape == layers[layers.inputs[0]].shape);
  CHECK(layers.layers[1].inputs[0] == join.outputs[0]);
}

TEST_CASE("calls of other classes, and those that go on otherwise, join nothing") {
  for (Layers layers : {TwoCalls("mine.Other", "conv2d"), TwoCalls("mine.DenseLayer", "linear")}) {
    const std::string before = OperatorsOf(layers);
    RestoreSingleJoins(&layers);
    CHECK(OperatorsOf(layers) == before);
  }
}

}  // namespace
}  // namespace vramplan
