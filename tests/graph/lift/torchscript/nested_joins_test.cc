#include <doctest/doctest.h>

#include "graph/lift/torchscript/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// Two maps of 8 channels, then a call "m" that joins them with one of its own.
Layers Up(bool own_last, Evidence evidence, const char* maker_of_second = "") {
  const Shape map{Dim::Batch(), 8, 4, 4};
  LayersByHand hand("mine.UpCat");
  const ValueId x = hand.Input("x", map);
  const ValueId a = hand.Add("relu", {x}, map), b = hand.Add("tanh", {x}, map);
  hand.layers.layers[0].module = ModuleId();
  if (maker_of_second[0] == '\0') hand.layers.layers[1].module = ModuleId();
  const ValueId own = hand.Add("conv_transpose2d", {a}, map);
  const std::vector<ValueId> inputs = own_last ? std::vector{a, b, own} : std::vector{own, a, b};
  hand.layers.outputs = {hand.Add("cat", inputs, {Dim::Batch(), 24, 4, 4})};
  hand.attributes().Set("dim", int64_t{1});
  for (Layer& layer : hand.layers.layers) layer.evidence = evidence;
  return hand.layers;
}

TEST_CASE("skips that were joined ahead are a join of the caller's") {
  for (const bool own_last : {true, false}) {
    Layers layers = Up(own_last, Evidence::kNode);
    SplitNestedJoins(&layers);
    CHECK(OperatorsOf(layers) == "relu tanh cat conv_transpose2d cat");
    const Layer &skip = layers.layers[2], &join = layers.layers[4];
    CHECK(skip.module == ModuleId{0});
    CHECK(skip.inputs == std::vector{layers.layers[0].outputs[0], layers.layers[1].outputs[0]});
    CHECK(layers[skip.outputs[0]].shape == Shape{Dim::Batch(), 16, 4, 4});
    const ValueId own = layers.layers[3].outputs[0];
    CHECK(join.inputs == (own_last ? std::vector{skip.outputs[0], own} : std::vector{own, skip.outputs[0]}));
  }
}

TEST_CASE("what names its joins, and what joins several of its own, stays") {
  for (Layers layers : {Up(true, Evidence::kProvenance), Up(false, Evidence::kNode, "in m")}) {
    const std::string before = OperatorsOf(layers);
    SplitNestedJoins(&layers);
    CHECK(OperatorsOf(layers) == before);
  }
}

}  // namespace
}  // namespace vramplan
