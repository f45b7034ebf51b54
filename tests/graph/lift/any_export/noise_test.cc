#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

TEST_CASE("stochastic depth: noise has the type of what it multiplies, and is scaled in place") {
  for (const bool scaled : {true, false}) {
    LayersByHand hand;
    const ValueId x = hand.Add("relu", {hand.Input("x", {Dim::Batch(), 8})}, {Dim::Batch(), 8});
    ValueId noise = hand.Add("bernoulli", {}, {Dim::Batch(), 1});
    if (scaled) {
      noise = hand.Add("div", {noise, ValueId()}, {Dim::Batch(), 1});
      hand.attributes().Set("scalar", 0.9);
    }
    hand.layers.outputs = {hand.Add("mul", {x, noise}, {Dim::Batch(), 8})};
    TypeNoise(&hand.layers);
    CHECK(hand.layers.layers[1].inputs == std::vector<ValueId>{ValueId(), x});
    if (scaled) CHECK(hand.layers.layers[2].attributes.Int("inplace", 0) == 1);
    // "if not self.training: return x": each hands on what it noises.
    CHECK(hand.layers.layers[1].attributes.Int("skipped-in-evaluation", -1) == 1);
    if (scaled) CHECK(hand.layers.layers[2].attributes.Int("skipped-in-evaluation", -1) == 0);
    CHECK(hand.layers.layers.back().attributes.Int("skipped-in-evaluation", -1) == 0);
  }
}

TEST_CASE("noise of the activation's own shape is drawn in evaluation too: a VAE's") {
  LayersByHand hand;
  const ValueId deviation = hand.Add("exp", {hand.Input("x", {Dim::Batch(), 8})}, {Dim::Batch(), 8});
  const ValueId noise = hand.Add("bernoulli", {}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("mul", {deviation, noise}, {Dim::Batch(), 8})};
  TypeNoise(&hand.layers);
  CHECK(hand.layers.layers[1].inputs == std::vector<ValueId>{ValueId(), deviation});
  CHECK(!hand.layers.layers.back().attributes.Has("skipped-in-evaluation"));
}

TEST_CASE("one number for each channel of a sample: a dropout by hand, which evaluation skips") {
  LayersByHand hand;
  const ValueId x = hand.Add("relu", {hand.Input("x", {Dim::Batch(), 6, 8})}, {Dim::Batch(), 6, 8});
  const ValueId noise = hand.Add("bernoulli", {}, {Dim::Batch(), 1, 8});
  hand.layers.outputs = {hand.Add("mul", {x, noise}, {Dim::Batch(), 6, 8})};
  TypeNoise(&hand.layers);
  CHECK(hand.layers.layers.back().attributes.Int("skipped-in-evaluation", -1) == 0);
}

TEST_CASE("noise that multiplies nothing, or what comes later, stays as the file says") {
  LayersByHand hand;
  const ValueId noise = hand.Add("bernoulli", {}, {Dim::Batch(), 8});
  const ValueId later = hand.Add("relu", {hand.Input("x", {Dim::Batch(), 8})}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("mul", {later, noise}, {Dim::Batch(), 8})};
  TypeNoise(&hand.layers);
  CHECK(hand.layers.layers[0].inputs.empty());
}

}  // namespace
}  // namespace vramplan
