#include <doctest/doctest.h>

#include "graph/lift/any_export/decomposed.h"
#include "graph/lift/dynamo/passes.h"
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

TEST_CASE("binary_cross_entropy_with_logits: weights, one of positives, no reduction") {
  for (const char* form : {"none", "weight", "positive"}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", kSizes), y = hand.Input("y", kSizes);
    hand.layers.values.push_back({.name = "m.w", .type = DType::kFloat32, .shape = {8}, .role = Role::kBuffer});
    const ValueId weight{static_cast<int32_t>(hand.layers.values.size()) - 1};
    const ValueId product = hand.Add("mul", {hand.Add("sub", {ValueId{}, y}, kSizes), x}, kSizes);
    ValueId log = hand.Add("log_sigmoid", {x}, kSizes);
    if (form == std::string("positive")) {
      const ValueId scaled = hand.Add("mul", {hand.Add("sub", {weight}, {8}), y}, kSizes);
      log = hand.Add("mul", {hand.Add("add", {scaled}, kSizes), log}, kSizes);
    }
    ValueId each = hand.Add("sub", {product, log}, kSizes);
    if (form == std::string("weight")) each = hand.Add("mul", {each, weight}, kSizes);
    const bool reduced = form != std::string("none");
    hand.layers.outputs = {hand.Add(reduced ? "mean" : "exp", {each}, reduced ? Shape() : kSizes)};
    GatherDecomposedLosses(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == (reduced ? "bce_logits" : "bce_logits exp"));
    const std::vector<ValueId>& inputs = hand.layers.layers[0].inputs;
    CHECK(hand.layers.layers[0].attributes.Text("reduction", "mean") == (reduced ? "mean" : "none"));
    if (form == std::string("weight")) CHECK(inputs == std::vector<ValueId>{x, y, weight});
    if (form == std::string("positive")) CHECK(inputs == std::vector<ValueId>{x, y, ValueId{}, weight});
  }
}

TEST_CASE("nll_loss of weighted classes takes the probabilities and the weights") {
  LayersByHand hand;
  const Dim batch = Dim::Batch();
  const ValueId p = hand.Input("p", {batch, 4}), y = hand.Input("y", {batch});
  hand.layers.values.push_back({.name = "m.w", .type = DType::kFloat32, .shape = {4}, .role = Role::kBuffer});
  const ValueId weight{static_cast<int32_t>(hand.layers.values.size()) - 1};
  const ValueId row = hand.Add("reshape", {weight}, {1, 4});
  const ValueId counted = hand.Add("ne", {y}, {batch}, DType::kBool);
  const ValueId number = hand.Add("unsqueeze", {hand.Add("where", {counted, y}, {batch})}, {batch, 1});
  const auto chosen = [&](ValueId from) {
    return hand.Add("squeeze", {hand.Add("gather", {from, number}, {batch, 1})}, {batch});
  };
  const ValueId loss = hand.Add("neg", {chosen(hand.Add("mul", {p, row}, {batch, 4}))}, {batch});
  const ValueId sum = hand.Add("sum", {hand.Add("where", {counted, loss}, {batch})}, Shape());
  const ValueId whole = hand.Add("sum", {hand.Add("where", {counted, chosen(row)}, {batch})}, Shape());
  hand.layers.outputs = {hand.Add("div", {sum, whole}, Shape())};
  GatherDecomposedLosses(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "nll_loss");
  CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{p, y, weight});
  CHECK(hand.layers.layers[0].attributes.Text("reduction", "mean") == "mean");
}

}  // namespace
}  // namespace vramplan
