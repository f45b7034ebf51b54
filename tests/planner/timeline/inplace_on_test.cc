#include "planner/timeline/inplace_on.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

const Shape kSizes{Dim::Batch(), Dim(8)};

// Whether relu, or `op`, in a module of its own can be in place behind a convolution.
bool Can(const char* op, bool read_again, bool own_module, bool made) {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kSizes);
  const ValueId y = made ? hand.Add("conv2d", {x}, kSizes) : x;
  if (own_module) hand.layers.modules.push_back({.path = "m.act", .class_name = "", .parent = ModuleId{1}});
  const ValueId z = hand.Add(op, {y}, kSizes);
  if (own_module) hand.layers.layers.back().module = ModuleId{2};
  const size_t place = hand.layers.layers.size() - 1;
  hand.layers.outputs = {hand.Add("add", {z, read_again ? y : z}, kSizes)};
  return CanBeInPlace(hand.layers)[place];
}

TEST_CASE("activation modules whose operand dies can be in place") {
  CHECK(Can("relu", false, true, true));
  CHECK(Can("silu", false, true, true));
  CHECK(!Can("gelu", false, true, true));   // nn.GELU has no inplace
  CHECK(!Can("relu", true, true, true));    // relu(y) + y
  CHECK(!Can("relu", false, false, true));  // F.relu beside the convolution
  CHECK(!Can("relu", false, true, false));  // the caller's own tensor
}

}  // namespace
}  // namespace vramplan
