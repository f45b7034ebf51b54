#include "graph/lift/torchscript/merged_pad.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// x = F.pad(x, (0, 1, 0, 1)); return cat([self.pool(x), self.conv(x)]), with the pad merged into the convolution too.
TEST_CASE("a merged pad that is still in the file for another reader is that one") {
  for (const int64_t other : {1, 2}) {
    LayersByHand hand;
    const Shape shape{Dim::Batch(), 3, 8, 8}, padded{Dim::Batch(), 3, 9, 9};
    const ValueId x = hand.Input("x", shape);
    const ValueId whole = hand.Add("pad", {x}, padded);
    hand.layers.layers.back().nodes = {NodeId{0}};
    hand.attributes().Set("pad", std::vector<int64_t>{0, 1, 0, 1});
    const ValueId merged = hand.Add("pad", {x}, padded);
    hand.layers.layers.back().name = "node_Conv_1.pad";
    hand.attributes().Set("pad", std::vector<int64_t>{0, other, 0, other});
    const ValueId y = hand.Add("conv2d", {merged}, shape);
    hand.layers.outputs = {y, hand.Add("max_pool2d", {whole}, shape)};
    ShareMergedPads(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (other == 1 ? "pad conv2d max_pool2d" : "pad pad conv2d max_pool2d"));
    if (other == 1) CHECK(hand.layers.layers[1].inputs[0] == whole);
  }
}

TEST_CASE("two pads of one tensor that the exporter merged are two") {
  LayersByHand hand;  // the second was put back by its name
  const Shape shape{Dim::Batch(), 3, 8, 8}, padded{Dim::Batch(), 3, 10, 10};
  const ValueId x = hand.Input("x", shape);
  for (int i = 0; i < 2; ++i) {
    const ValueId pad = hand.Add("pad", {x}, padded);
    if (i == 0) hand.layers.layers.back().nodes = {NodeId{0}};
    hand.attributes().Set("pad", std::vector<int64_t>{1, 1, 1, 1});
    hand.layers.outputs.push_back(hand.Add("conv2d", {pad}, shape));
  }
  ShareMergedPads(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "pad conv2d pad conv2d");
}

}  // namespace
}  // namespace vramplan
