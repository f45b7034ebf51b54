#include "graph/lift/module_calls.h"

#include <doctest/doctest.h>

#include "graph/lift/decomposed_losses.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

const Shape kSizes{Dim::Batch(), 8};

TEST_CASE("what a dynamo export made of nn.RMSNorm is one call again, unless something else reads a part") {
  for (const bool shared : {false, true}) {
    LayersByHand hand("torch.nn.modules.normalization.RMSNorm");
    const ValueId x = hand.Input("x", kSizes);
    hand.layers.values.push_back({.name = "m.weight", .type = DType::kFloat32, .shape = {8}, .role = Role::kParameter});
    const ValueId weight{static_cast<int32_t>(hand.layers.values.size()) - 1};
    const ValueId square = hand.Add("pow", {x}, kSizes);
    const ValueId root = hand.Add("rsqrt", {hand.Add("mean", {square}, {Dim::Batch(), 1})}, {Dim::Batch(), 1});
    const ValueId y = hand.Add("mul", {hand.Add("mul", {x, root}, kSizes), weight}, kSizes);
    hand.layers.outputs = {y};
    if (shared) hand.layers.outputs.push_back(square);
    GatherModuleCalls(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (shared ? "pow mean rsqrt mul mul" : "rms_norm"));
    if (!shared) CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x, weight});
  }
}

TEST_CASE("a class without a row stays as it is") {
  LayersByHand hand("torch.nn.modules.activation.ReLU");
  const ValueId x = hand.Input("x", kSizes);
  hand.layers.outputs = {hand.Add("relu", {hand.Add("neg", {x}, kSizes)}, kSizes)};
  GatherModuleCalls(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "neg relu");
}

TEST_CASE("binary_cross_entropy_with_logits taken apart is one loss, with its reduction") {
  for (const char* reduction : {"mean", "sum"}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", kSizes), y = hand.Input("y", kSizes);
    const ValueId complement = hand.Add("sub", {ValueId{}, y}, kSizes);
    const ValueId product = hand.Add("mul", {complement, x}, kSizes);
    const ValueId each = hand.Add("sub", {product, hand.Add("log_sigmoid", {x}, kSizes)}, kSizes);
    hand.layers.outputs = {hand.Add(reduction, {each}, Shape())};
    for (Layer& layer : hand.layers.layers) layer.evidence = Evidence::kProvenance;
    GatherDecomposedLosses(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == "bce_logits");
    CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x, y});
    CHECK(hand.layers.layers[0].attributes.Text("reduction", "mean") == reduction);
  }
}

}  // namespace
}  // namespace vramplan
