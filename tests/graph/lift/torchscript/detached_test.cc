#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/torchscript/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

std::vector<std::string> Operators(const Layers& layers) {
  std::vector<std::string> result;
  for (const Layer& layer : layers.layers) result.push_back(layer.op);
  return result;
}

// z_e + (z_q - z_e).detach(): VQ-VAE. The last three are ordinary sums.
TEST_CASE("a difference that is added to what was taken from it was detached") {
  using Ops = std::vector<std::string>;
  const Shape shape{Dim::Batch(), 8};
  enum class Form { kPlain, kTurned, kThroughView, kExported, kOther, kReadTwice, kScaled };
  const auto ops = [&](Form form) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", shape), y = hand.Input("y", shape), z = hand.Input("z", shape);
    const ValueId seen = form == Form::kThroughView ? hand.Add("reshape", {x}, shape) : x;
    ValueId difference = hand.Add("sub", {y, form == Form::kOther ? z : seen}, shape);
    if (form == Form::kScaled) hand.attributes().Set("alpha", 2.0);
    const std::vector<ValueId> summands =
        form == Form::kTurned ? std::vector<ValueId>{difference, x} : std::vector<ValueId>{x, difference};
    hand.layers.outputs = {hand.Add("add", summands, shape)};
    if (form == Form::kExported) hand.layers.layers.back().evidence = Evidence::kProvenance;
    if (form == Form::kReadTwice) hand.layers.outputs.push_back(hand.Add("relu", {difference}, shape));
    DetachStraightThrough(&hand.layers);
    return Operators(hand.layers);
  };
  CHECK(ops(Form::kPlain) == Ops{"sub", "detach", "add"});
  CHECK(ops(Form::kTurned) == Ops{"sub", "detach", "add"});
  CHECK(ops(Form::kThroughView) == Ops{"reshape", "sub", "detach", "add"});
  CHECK(ops(Form::kExported) == Ops{"sub", "add"});  // a dynamo file says detach itself
  CHECK(ops(Form::kOther) == Ops{"sub", "add"});
  CHECK(ops(Form::kReadTwice) == Ops{"sub", "add", "relu"});
  CHECK(ops(Form::kScaled) == Ops{"sub", "add"});
}

// src_max = scatter(src.detach(), index, reduce="max"); out = (src - src_max.index_select(0, index)).exp()
TEST_CASE("softmax by index takes its maxima from a detached tensor; other maxima may be") {
  using Ops = std::vector<std::string>;
  const Shape nodes{8, 4}, edges{20, 4};
  const auto model = [&](bool leaves_self_out, const char* reduce, bool subtracts_its_own) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", edges), y = hand.Input("y", edges), index = hand.Input("index", edges);
    const ValueId zeros = hand.Add("zeros", {}, nodes);
    const ValueId maxima = hand.Add("scatter_reduce", {zeros, index, x}, nodes);
    hand.attributes().Set("reduce", std::string(reduce));
    hand.attributes().Set("include_self", int64_t{leaves_self_out ? 0 : 1});
    const ValueId spread = hand.Add("index_select", {maxima, index}, edges);
    const ValueId difference = hand.Add("sub", {subtracts_its_own ? x : y, spread}, edges);
    hand.layers.outputs = {hand.Add("exp", {difference}, edges)};
    return hand.layers;
  };
  const Ops as_given = {"zeros", "scatter_reduce", "index_select", "sub", "exp"};
  Layers softmax = model(true, "amax", true);
  DetachSoftmaxByIndex(&softmax);
  CHECK(Operators(softmax) == Ops{"zeros", "detach", "scatter_reduce", "index_select", "sub", "exp"});
  CHECK(PerhapsDetached(softmax).empty());
  for (Layers other : {model(false, "amax", true), model(true, "amin", true), model(true, "amax", false)}) {
    DetachSoftmaxByIndex(&other);
    CHECK(Operators(other) == as_given);
  }
  Layers asked = model(false, "amax", true);
  REQUIRE(PerhapsDetached(asked) == Operands{{3, 1}});
  Detach(PerhapsDetached(asked), &asked);
  CHECK(Operators(asked) == Ops{"zeros", "scatter_reduce", "index_select", "detach", "sub", "exp"});
}

TEST_CASE("x - x.amax(): the maximum may be detached") {
  LayersByHand hand;
  const Shape shape{Dim::Batch(), 8}, one{Dim::Batch(), 1};
  const ValueId x = hand.Input("x", shape), y = hand.Input("y", shape);
  const ValueId maximum = hand.Add("amax", {x}, one);
  const ValueId difference = hand.Add("sub", {x, maximum}, shape);
  hand.layers.outputs = {difference, hand.Add("sub", {y, maximum}, shape)};
  CHECK(PerhapsDetached(hand.layers) == Operands{{1, 1}});
}

TEST_CASE("x / x.abs().sum().clamp(): the sizes may be detached, a sum of x itself is not asked about") {
  for (const bool sizes : {true, false}) {
    LayersByHand hand;
    const Shape shape{Dim::Batch(), 8}, one{Dim::Batch(), 1};
    const ValueId x = hand.Input("x", shape);
    const ValueId size = sizes ? hand.Add("abs", {x}, shape) : x;
    const ValueId sum = hand.Add("clamp", {hand.Add("sum", {size}, one)}, one);
    hand.layers.outputs = {hand.Add("div", {x, sum}, shape)};
    CHECK(PerhapsDetached(hand.layers) == (sizes ? Operands{{3, 1}} : Operands{}));
  }
}

}  // namespace
}  // namespace vramplan
