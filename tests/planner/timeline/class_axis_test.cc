#include "planner/timeline/class_axis.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

using namespace vramplan;

namespace {

const Shape kShape{Dim::Batch(), 6, 7};

TEST_CASE("classes lie where what made the output puts features") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape);
  const ValueId tokens = hand.Add("relu", {hand.Add("linear", {x}, kShape)}, kShape);
  const ValueId signal = hand.Add("relu", {hand.Add("conv1d", {x}, kShape)}, kShape);
  const ValueId turned = hand.Add("transpose", {tokens}, kShape);
  hand.attributes().Set("dim0", int64_t{1});
  hand.attributes().Set("dim1", int64_t{2});
  const ValueId moved = hand.Add("permute", {signal}, kShape);  // length, batch, classes
  hand.attributes().Set("dims", std::vector<int64_t>{2, 0, 1});
  const ValueId named = hand.Add("log_softmax", {x}, kShape);
  hand.attributes().Set("dim", int64_t{1});
  CHECK_EQ(ClassAxis(hand.layers, tokens), 2);
  CHECK_EQ(ClassAxis(hand.layers, signal), 1);
  CHECK_EQ(ClassAxis(hand.layers, turned), 1);
  CHECK_EQ(ClassAxis(hand.layers, moved), 2);
  CHECK_EQ(ClassAxis(hand.layers, named), 1);
  CHECK_EQ(ClassAxis(hand.layers, x), 2);  // nothing tells
}

}  // namespace
