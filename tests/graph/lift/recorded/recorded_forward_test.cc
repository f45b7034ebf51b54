#include <doctest/doctest.h>

#include <string>

#include "graph/lift/recorded/recorded.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// x -> conv2d -> relu -> add(relu, conv2d) -> y, whose layers are called like their operators.
struct Net {
  LayersByHand hand;
  ValueId conv, relu, sum;
  Net() {
    const Shape shape{Dim::Batch(), 8};
    conv = Named("conv2d", {hand.Input("x", shape)}, shape);
    relu = Named("relu", {conv}, shape);
    sum = Named("add", {relu, conv}, shape);
    hand.layers.outputs = {sum};
  }
  ValueId Named(const char* op, std::vector<ValueId> inputs, const Shape& shape) {
    const ValueId made = hand.Add(op, std::move(inputs), shape);
    hand.layers.layers.back().name = op;
    return made;
  }
  Layers Taking(const RecordedForward& forward) {
    Layers layers = hand.layers;
    TakeRecordedForward(Graph(), forward, &layers);
    return layers;
  }
};

TEST_CASE("recorded ends: by the layer whose result was made last") {
  Net net;
  const Layers layers = net.Taking({{"conv2d", "dropout", "relu", "add"}, {{"conv2d", 3}, {"relu", 2}}, {}});
  CHECK(layers.recorded == std::vector<RecordedEnd>{{net.conv, net.sum}, {net.relu, net.relu}});
}

TEST_CASE("recorded ends: a call that the file lost ends with the layer before it") {
  Net net;
  const Layers layers = net.Taking({{"conv2d", "relu", "lost", "add"}, {{"conv2d", 2}, {"nobody", 2}}, {}});
  CHECK(layers.recorded == std::vector<RecordedEnd>{{net.conv, net.relu}});
}

TEST_CASE("recorded ends: before the first layer there is none") {
  Net net;
  CHECK(net.Taking({{"lost", "conv2d"}, {{"conv2d", 0}}, {}}).recorded.empty());
}

TEST_CASE("what the caller keeps is an output") {
  Net net;
  const Layers layers = net.Taking({{"conv2d", "relu", "add"}, {{"relu", -1}, {"add", -1}}, {}});
  CHECK(layers.outputs == std::vector<ValueId>{net.sum, net.relu});
}

TEST_CASE("recorded writes: in place, and what was recorded without one is not") {
  Net net;
  net.hand.layers.layers[2].attributes.Set("inplace", int64_t{1});  // by habit
  const Layers layers =
      net.Taking({{"conv2d", "relu", "add"}, {{"conv2d", 2}, {"relu", 2}, {"add", -1}}, {"relu", "conv2d"}});
  CHECK(layers.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(layers.layers[2].attributes.Int("inplace", 0) == 0);
  CHECK(!layers.layers[0].attributes.Has("inplace"));  // its operand is the caller's
}

TEST_CASE("recorded writes: what nobody recorded stays as it was") {
  Net net;
  net.hand.layers.layers[2].attributes.Set("inplace", int64_t{1});
  const Layers layers = net.Taking({{"conv2d", "relu", "add"}, {{"relu", 2}}, {}});
  CHECK(layers.layers[2].attributes.Int("inplace", 0) == 1);
}

TEST_CASE("recorded checkpoints: every call of the module") {
  Net net;
  Facts facts;
  TakeRecordedCheckpoints(facts, &net.hand.layers);
  CHECK(!net.hand.layers.told.code);
  facts.checkpointed = {"m"};
  TakeRecordedCheckpoints(facts, &net.hand.layers);
  CHECK(net.hand.layers.told.code);
  CHECK(net.hand.layers.checkpointed == std::vector<ModuleId>{ModuleId{1}});
}

}  // namespace
}  // namespace vramplan
