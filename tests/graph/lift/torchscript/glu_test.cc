#include "graph/lift/torchscript/glu.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("half times sigmoid of the other half is one glu, when nothing else reads them") {
  for (const bool shared : {false, true}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    const ValueId a = hand.Add("split", {x}, {Dim::Batch(), 4});
    hand.attributes().Set("dim", int64_t{1});
    hand.layers.values.push_back(hand.layers[a]);
    const ValueId b{static_cast<int32_t>(hand.layers.values.size()) - 1};
    hand.layers.layers.back().outputs.push_back(b);
    const ValueId gate = hand.Add("sigmoid", {b}, {Dim::Batch(), 4});
    const ValueId y = hand.Add("mul", {a, gate}, {Dim::Batch(), 4});
    hand.layers.outputs = {shared ? hand.Add("add", {y, gate}, {Dim::Batch(), 4}) : y};
    GatherGlu(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (shared ? "split sigmoid mul add" : "glu"));
    if (!shared) CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x});
  }
}

TEST_CASE("in a dynamo export, which names glu, a gate is the program's own") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId a = hand.Add("split", {x}, {Dim::Batch(), 4});
  hand.layers.values.push_back(hand.layers[a]);
  const ValueId b{static_cast<int32_t>(hand.layers.values.size()) - 1};
  hand.layers.layers.back().outputs.push_back(b);
  hand.layers.outputs = {hand.Add("mul", {a, hand.Add("sigmoid", {b}, {Dim::Batch(), 4})}, {Dim::Batch(), 4})};
  hand.layers.layers.back().evidence = Evidence::kProvenance;
  GatherGlu(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "split sigmoid mul");
}

}  // namespace
}  // namespace vramplan
