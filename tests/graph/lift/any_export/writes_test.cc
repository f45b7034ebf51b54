#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

void InPlaceAlong(LayersByHand& hand, int64_t dim) {
  hand.attributes().Set("inplace", int64_t{1});
  hand.attributes().Set("dim", dim);
}

TEST_CASE("x[:, 1:, 1:] += y: slices, a sum and a slice_scatter for each axis are one call") {
  // mvit's attn[:, :, 1:, 1:] += rel_pos: export adds the part put back onto itself, which is nothing.
  LayersByHand hand;
  const ValueId x = hand.Input("x", {4, 6, 6}), y = hand.Input("y", {4, 5, 5});
  const ValueId work = hand.Add("relu", {x}, {4, 6, 6});
  const ValueId rows = hand.Add("slice", {work}, {4, 5, 6});
  const ValueId part = hand.Add("slice", {rows}, {4, 5, 5});
  const ValueId sum = hand.Add("add", {part, y}, {4, 5, 5});
  const ValueId inner = hand.Add("slice_scatter", {rows, sum}, {4, 5, 6});
  InPlaceAlong(hand, 2);
  const ValueId outer = hand.Add("slice_scatter", {work, inner}, {4, 6, 6});
  InPlaceAlong(hand, 1);
  const ValueId again = hand.Add("slice", {outer}, {4, 5, 6});
  const ValueId itself = hand.Add("slice_scatter", {outer, again}, {4, 6, 6});
  InPlaceAlong(hand, 1);
  hand.layers.outputs = {hand.Add("softmax", {itself}, {4, 6, 6})};
  GatherWrites(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "relu slice slice slice_scatter slice softmax");
  const Layer& write = hand.layers.layers[3];
  CHECK(write.inputs == std::vector<ValueId>{work, y});
  CHECK(write.attributes.Text("update", "") == "add");
  CHECK(hand.layers.layers.back().inputs == std::vector<ValueId>{outer});
}

TEST_CASE("x[a:b] = number fills; x[a:b] = y copies") {
  for (const bool number : {true, false}) {
    LayersByHand hand;
    const ValueId y = hand.Input("y", {3, 8});
    const ValueId x = hand.Add("zeros", {}, {6, 8});
    const ValueId source = number ? hand.Add("full", {}, {3, 8}) : y;
    hand.layers.outputs = {hand.Add("slice_scatter", {x, source}, {6, 8})};
    InPlaceAlong(hand, 0);
    GatherWrites(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == "zeros slice_scatter");
    const Layer& write = hand.layers.layers.back();
    CHECK(write.inputs == std::vector<ValueId>{x, number ? ValueId() : y});
    CHECK(write.attributes.Text("update", "copy") == (number ? "fill" : "copy"));
  }
}

}  // namespace
}  // namespace vramplan
