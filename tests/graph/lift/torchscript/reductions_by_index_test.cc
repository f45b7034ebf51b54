#include "graph/lift/torchscript/reductions_by_index.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// What torch_geometric's scatter(reduce="max") writes where it is exported.
Layers Exported(bool of_same_tensor, bool same_places) {
  const Shape nodes{8, 4}, edges{20, 4};
  LayersByHand hand;
  const ValueId src = hand.Input("src", edges), other = hand.Input("other", edges);
  const ValueId index = hand.Input("index", edges), elsewhere = hand.Input("elsewhere", edges);
  const ValueId least = hand.Add("amin", {of_same_tensor ? src : other}, {});
  const ValueId fill = hand.Add("add", {hand.Add("zeros", {}, {1}), least}, {1});
  const ValueId spread = hand.Add("expand", {fill}, edges);
  const ValueId zeros = hand.Add("zeros", {}, nodes);
  const ValueId begin = hand.Add("scatter_reduce", {zeros, same_places ? index : elsewhere, spread}, nodes);
  hand.layers.outputs = {hand.Add("scatter_reduce", {begin, index, src}, nodes)};
  hand.attributes().Set("reduce", std::string("amax"));
  GatherReductionsByIndex(&hand.layers);
  return hand.layers;
}

TEST_CASE("two reductions by index, the first of the least value: one in place that leaves self out") {
  const Layers gathered = Exported(true, true);
  REQUIRE(OperatorsOf(gathered) == "zeros scatter_reduce");
  CHECK(gathered.layers[1].attributes.Int("include_self", 1) == 0);
  CHECK(gathered.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(gathered.layers[1].attributes.Text("reduce", "") == "amax");
  CHECK(gathered.layers[1].inputs[0] == gathered.layers[0].outputs[0]);
  const std::string as_given = "amin zeros add expand zeros scatter_reduce scatter_reduce";
  CHECK(OperatorsOf(Exported(false, true)) == as_given);
  CHECK(OperatorsOf(Exported(true, false)) == as_given);
}

}  // namespace
}  // namespace vramplan
