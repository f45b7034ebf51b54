#include <doctest/doctest.h>

#include "graph/lift/any_export/decomposed.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

const Dim kBatch = Dim::Batch();

ValueId Stored(LayersByHand* hand, Shape shape, Role role = Role::kConstant) {
  hand->layers.values.push_back({.name = "table", .type = DType::kFloat32, .shape = shape, .role = role});
  return ValueId{static_cast<int32_t>(hand->layers.values.size()) - 1};
}

void FromDynamo(LayersByHand* hand) {
  for (Layer& layer : hand->layers.layers) layer.evidence = Evidence::kProvenance;
}

TEST_CASE("linear resizing of one axis is two indices and a mean of them") {
  LayersByHand hand;
  const Shape wide{kBatch, 8, 32};
  const ValueId x = hand.Input("x", {kBatch, 8, 16}), table = Stored(&hand, {32, 1}), weights = Stored(&hand, {32});
  const ValueId low = hand.Add("index", {x, table}, wide), high = hand.Add("index", {x, table}, wide);
  const ValueId product = hand.Add("mul", {hand.Add("sub", {high, low}, wide), weights}, wide);
  hand.layers.outputs = {hand.Add("add", {low, product}, wide)};
  FromDynamo(&hand);
  GatherDecomposedCalls(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "upsample_linear1d");
  CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x});
}

TEST_CASE("noise for each sample and channel is F.dropout2d, other noise is the program's") {
  const Shape whole{kBatch, 8, 16, 16};
  for (const Shape& noise : {Shape{kBatch, 8, 1, 1}, Shape{kBatch, 1, 1, 1}, whole}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", whole);
    const ValueId made = hand.Add("bernoulli", {}, noise), scaled = hand.Add("div", {made}, noise);
    hand.attributes().Set("scalar", 0.5);
    hand.layers.outputs = {hand.Add("mul", {x, scaled}, whole)};
    FromDynamo(&hand);
    GatherDecomposedCalls(&hand.layers);
    const bool by_channel = noise[1].Is(8) && noise[2].Is(1);
    CHECK(OperatorsOf(hand.layers) == (by_channel ? "feature_dropout" : "bernoulli div mul"));
    if (by_channel) CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{x});
  }
}

TEST_CASE("an unchecked index over the last axes is nearest-exact resizing, a checked one is the program's") {
  for (const int64_t unchecked : {0, 1}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {kBatch, 8, 16, 16}), table = Stored(&hand, {32, 32, 2});
    hand.layers.outputs = {hand.Add("index", {x, table, table}, {kBatch, 8, 32, 32})};
    if (unchecked != 0) hand.attributes().Set("unchecked", unchecked);
    FromDynamo(&hand);
    GatherDecomposedCalls(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == (unchecked != 0 ? "_upsample_nearest_exact2d" : "index"));
  }
}

TEST_CASE("TorchScript's windows are a view again, unless one is missing") {
  for (const int64_t last : {8, 12}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {kBatch, 8, 16});
    std::vector<ValueId> windows;
    for (const int64_t start : std::initializer_list<int64_t>{0, 4, last}) {
      const ValueId part = hand.Add("slice", {x}, {kBatch, 4, 16});
      hand.attributes().Set("dim", int64_t{1});
      hand.attributes().Set("start", start);
      const ValueId turned = hand.Add("transpose", {part}, {kBatch, 16, 4});
      windows.push_back(hand.Add("unsqueeze", {turned}, {kBatch, 1, 16, 4}));
    }
    hand.layers.outputs = {hand.Add("cat", windows, {kBatch, 3, 16, 4})};
    hand.attributes().Set("dim", int64_t{1});
    GatherDecomposedCalls(&hand.layers);
    CHECK((OperatorsOf(hand.layers) == "unfold") == (last == 8));
  }
}

TEST_CASE("rims from the other side are a circular pad, of two axes one call") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {kBatch, 8, 16, 16});
  const auto rim = [&](ValueId from, int64_t dim, int64_t start, Shape shape) {
    const ValueId part = hand.Add("slice", {from}, shape);
    hand.attributes().Set("dim", dim);
    hand.attributes().Set("start", start);
    return part;
  };
  const ValueId tall =
      hand.Add("cat", {rim(x, 2, -1, {kBatch, 8, 1, 16}), x, rim(x, 2, 0, {kBatch, 8, 2, 16})}, {kBatch, 8, 19, 16});
  hand.attributes().Set("dim", int64_t{2});
  hand.layers.outputs = {hand.Add("cat", {rim(tall, 3, -3, {kBatch, 8, 19, 3}), tall}, {kBatch, 8, 19, 19})};
  hand.attributes().Set("dim", int64_t{3});
  GatherDecomposedCalls(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "pad");
  CHECK(hand.layers.layers[0].attributes.Text("mode", "") == "circular");
  CHECK(hand.layers.layers[0].attributes.Ints("pad") == std::vector<int64_t>{3, 0, 1, 2});
}

TEST_CASE("joins of one on one axis and the next are a circular pad by nothing; one alone is a join") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {kBatch, 1, 16, 16});
  const ValueId tall = hand.Add("cat", {x}, {kBatch, 1, 16, 16});
  hand.attributes().Set("dim", int64_t{2});
  hand.layers.outputs = {hand.Add("cat", {tall}, {kBatch, 1, 16, 16})};
  hand.attributes().Set("dim", int64_t{3});
  GatherDecomposedCalls(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "pad");
  CHECK(hand.layers.layers[0].attributes.Ints("pad") == std::vector<int64_t>{0, 0, 0, 0});
  LayersByHand alone;
  alone.layers.outputs = {alone.Add("cat", {alone.Input("x", {kBatch, 8})}, {kBatch, 8})};
  alone.attributes().Set("dim", int64_t{1});
  GatherDecomposedCalls(&alone.layers);
  CHECK(OperatorsOf(alone.layers) == "cat");
}

TEST_CASE("TorchScript's variance: the mean of a difference times itself") {
  for (const bool root : {false, true}) {
    LayersByHand hand;
    const Shape sizes{kBatch, 8}, one{kBatch, 1};
    const ValueId x = hand.Input("x", sizes);
    const ValueId d = hand.Add("sub", {x, hand.Add("mean", {x}, one)}, sizes);
    ValueId out = hand.Add("mean", {hand.Add("mul", {d, d}, sizes)}, one);
    hand.attributes().Set("dim", std::vector<int64_t>{1});
    hand.attributes().Set("keepdim", int64_t{1});
    if (root) out = hand.Add("sqrt", {out}, one);
    hand.layers.outputs = {out};
    GatherDecomposedCalls(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == (root ? "std" : "var"));
    CHECK(hand.layers.layers[0].attributes.Ints("dim") == std::vector<int64_t>{1});
  }
}

TEST_CASE("where the maximum was comes from the pool itself") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {kBatch, 8, 16, 16});
  const Shape small{kBatch, 8, 8, 8};
  const auto pool = [&](const char* op, Shape shape) {
    const ValueId out = hand.Add(op, {x}, shape);
    hand.layers.values.push_back({.name = "places", .type = DType::kInt64, .shape = shape});
    const ValueId places{static_cast<int32_t>(hand.layers.values.size()) - 1};
    hand.layers.layers.back().outputs = {out, places};
    return places;
  };
  const ValueId places = pool("max_pool2d", small);
  const ValueId ones = pool("adaptive_max_pool2d", {kBatch, 8, 16, 16});
  const ValueId first = hand.Add("slice", {ones}, {kBatch, 8, 1, 1}, DType::kInt64);
  const ValueId counted = hand.Add("sub", {places, first}, small, DType::kInt64);
  hand.layers.outputs = {counted};
  GatherDecomposedCalls(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "max_pool2d");
  CHECK(hand.layers.layers[0].outputs[1] == counted);
}

}  // namespace
}  // namespace vramplan
