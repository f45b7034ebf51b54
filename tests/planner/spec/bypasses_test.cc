#include "planner/spec/bypasses.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/spec/adapters.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// y = l(x) + b(a(dropout(x))) * 2, `blocks` times, and a head; `rank` is where the pair meets.
Layers Bypassed(int blocks, int64_t rank, bool beside = true) {
  LayersByHand hand;
  ValueId x = hand.Input("x", {Dim::Batch(), 64});
  for (int i = 0; i < blocks; ++i) {
    const std::string path = "b." + std::to_string(i);
    const ValueId y = hand.Add("linear", {x, hand.Parameter(path + ".l.weight", {64, 64})}, {Dim::Batch(), 64});
    const ValueId from = hand.Add("dropout", {beside ? x : y}, {Dim::Batch(), 64});
    const ValueId a = hand.Add("linear", {from, hand.Parameter(path + ".down", {rank, 64})}, {Dim::Batch(), rank});
    const ValueId b = hand.Add("linear", {a, hand.Parameter(path + ".up", {64, rank})}, {Dim::Batch(), 64});
    x = hand.Add("add", {y, hand.Add("mul", {b, ValueId()}, {Dim::Batch(), 64})}, {Dim::Batch(), 64});
  }
  hand.layers.outputs = {hand.Add("linear", {x, hand.Parameter("h.weight", {2, 64})}, {Dim::Batch(), 2})};
  return hand.layers;
}

TEST_CASE("pairs that meet in few beside linear layers are trained, and a small head; whatever their names are") {
  const Layers layers = Bypassed(2, 4);
  const Bypasses found = FindBypasses(layers);
  CHECK(found.pairs == 2);
  CHECK(found.first == "b.0.down");
  CHECK(ToString(found.patterns) == "--trainable '*.down' --trainable '*.up' --trainable 'h.*'");
  const std::optional<Adapters> adapters = FindAdapters(layers);
  REQUIRE(adapters.has_value());
  CHECK(adapters->patterns.front() == TrainedPattern{"*", false});
}

TEST_CASE("a pair beside a part of a projection: q and v of qkv") {
  LayersByHand hand;
  ValueId x = hand.Input("x", {Dim::Batch(), 64});
  for (const std::string path : {"b.0", "b.1"}) {
    const ValueId qkv = hand.Add("linear", {x, hand.Parameter(path + ".qkv.weight", {192, 64})}, {Dim::Batch(), 192});
    const ValueId q = hand.Add("slice", {qkv}, {Dim::Batch(), 64});
    const ValueId a = hand.Add("linear", {x, hand.Parameter(path + ".down", {4, 64})}, {Dim::Batch(), 4});
    const ValueId b = hand.Add("linear", {a, hand.Parameter(path + ".up", {64, 4})}, {Dim::Batch(), 64});
    x = hand.Add("add", {q, b}, {Dim::Batch(), 64});
  }
  hand.layers.outputs = {x};
  const Bypasses found = FindBypasses(hand.layers);
  CHECK(found.pairs == 2);
  CHECK(ToString(found.patterns) == "--trainable '*.down' --trainable '*.up'");
}

TEST_CASE("one pair, a pair that meets in many, and a pair behind the layer are none") {
  CHECK(FindBypasses(Bypassed(1, 4)).pairs == 0);
  CHECK(FindBypasses(Bypassed(2, 48)).pairs == 0);
  CHECK(FindBypasses(Bypassed(2, 4, false)).pairs == 0);
  CHECK_FALSE(FindAdapters(Bypassed(2, 48)).has_value());
}

}  // namespace
}  // namespace vramplan
