#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

ValueId Stored(LayersByHand* hand, std::string name, Shape shape, Role role) {
  hand->layers.values.push_back({.name = std::move(name), .type = DType::kFloat32, .shape = shape, .role = role});
  const ValueId id{static_cast<int32_t>(hand->layers.values.size()) - 1};
  (role == Role::kBuffer ? hand->layers.buffers : hand->layers.parameters).push_back(id);
  return id;
}

TEST_CASE("weight norm that was not folded is one call, bound to its module by the hook only") {
  for (const bool hook : {false, true}) {
    LayersByHand hand;
    const std::string names = hook ? "m.weight_" : "m.parametrizations.weight.original";
    const ValueId v = Stored(&hand, names + (hook ? "v" : "1"), {8, 4, 3}, Role::kParameter);
    const ValueId g = Stored(&hand, names + (hook ? "g" : "0"), {8, 1, 1}, Role::kParameter);
    const ValueId norm = hand.Add("norm", {v}, {8, 1, 1});
    hand.attributes().Set("dim", std::vector<int64_t>{1, 2});
    hand.layers.outputs = {hand.Add("mul", {v, hand.Add("div", {g, norm}, {8, 1, 1})}, {8, 4, 3})};
    GatherReparametrized(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == "weight_norm");
    CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{v, g});
    CHECK(hand.layers.layers[0].attributes.Int("bound", 0) == (hook ? 1 : 0));
  }
}

TEST_CASE("weight norm over a middle axis stays as the file has it") {
  LayersByHand hand;
  const ValueId v = Stored(&hand, "m.weight_v", {8, 4, 3}, Role::kParameter);
  const ValueId g = Stored(&hand, "m.weight_g", {1, 4, 1}, Role::kParameter);
  const ValueId norm = hand.Add("norm", {v}, {1, 4, 1});
  hand.attributes().Set("dim", std::vector<int64_t>{0, 2});
  hand.layers.outputs = {hand.Add("mul", {v, hand.Add("div", {g, norm}, {1, 4, 1})}, {8, 4, 3})};
  GatherReparametrized(&hand.layers);
  CHECK(OperatorsOf(hand.layers) == "norm div mul");
}

TEST_CASE("v / |v| * g of TorchScript divides the magnitude: one norm for all is no fused call") {
  for (const char* magnitude : {"m.weight_g", "m.scale"}) {
    CAPTURE(std::string(magnitude));
    LayersByHand hand;
    const ValueId v = Stored(&hand, "m.weight_v", {8, 4, 3}, Role::kParameter);
    const ValueId g = Stored(&hand, magnitude, Shape(), Role::kParameter);
    const ValueId norm = hand.Add("norm", {v}, {1, 1, 1});
    hand.attributes().Set("dim", std::vector<int64_t>{0, 1, 2});
    const ValueId quotient = hand.Add("div", {v, norm}, {8, 4, 3});
    hand.layers.outputs = {hand.Add("mul", {quotient, g}, {8, 4, 3})};
    GatherReparametrized(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == "norm div mul");
    const bool is_hook = magnitude == std::string("m.weight_g");
    CHECK(hand.layers.layers[1].inputs == (is_hook ? std::vector<ValueId>{g, norm} : std::vector<ValueId>{v, norm}));
    CHECK(hand.layers.layers[2].inputs ==
          (is_hook ? std::vector<ValueId>{v, quotient} : std::vector<ValueId>{quotient, g}));
    CHECK(hand.layers[quotient].shape == (is_hook ? Shape{1, 1, 1} : Shape{8, 4, 3}));
  }
}

TEST_CASE("spectral norm takes both vectors, also the one whose length nothing told") {
  LayersByHand hand;
  const ValueId weight = Stored(&hand, "m.weight_orig", {8, 4, 3}, Role::kParameter);
  const ValueId u = Stored(&hand, "m.weight_u", {8}, Role::kBuffer);
  const ValueId v = Stored(&hand, "m.weight_v", Shape(), Role::kBuffer);
  const ValueId matrix = hand.Add("reshape", {weight}, {8, 12});
  const ValueId iterated = hand.Add("matmul", {hand.Add("transpose", {matrix}, {12, 8}), u}, {12});
  const ValueId sigma = hand.Add("matmul", {u, hand.Add("matmul", {matrix, iterated}, {8})}, Shape());
  hand.layers.outputs = {hand.Add("div", {weight, sigma}, {8, 4, 3})};
  GatherReparametrized(&hand.layers);
  REQUIRE(OperatorsOf(hand.layers) == "spectral_norm");
  CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{weight, u, v});
  CHECK(hand.layers[v].shape == Shape{12});
}

TEST_CASE("spectral norm of an export of eval() has its matrix stored once more") {
  for (const bool transposed : {false, true}) {
    LayersByHand hand;
    const ValueId weight =
        Stored(&hand, "m.weight_orig", transposed ? Shape{4, 8, 3} : Shape{8, 4, 3}, Role::kParameter);
    const ValueId u = Stored(&hand, "m.weight_u", {8}, Role::kParameter);
    const ValueId v = Stored(&hand, "m.weight_v", {12}, Role::kParameter);
    const ValueId matrix = Stored(&hand, "onnx::MatMul_63", {8, 12}, Role::kBuffer);
    const ValueId sigma = hand.Add("matmul", {u, hand.Add("matmul", {matrix, v}, {8})}, Shape());
    hand.layers.outputs = {hand.Add("div", {weight, sigma}, hand.layers[weight].shape)};
    GatherReparametrized(&hand.layers);
    REQUIRE(OperatorsOf(hand.layers) == "spectral_norm");
    CHECK(hand.layers.layers[0].inputs == std::vector<ValueId>{weight, u, v});
    CHECK(hand.layers.layers[0].attributes.Int("dim", 0) == (transposed ? 1 : 0));
    CHECK(hand.layers.parameters == std::vector<ValueId>{weight});
    CHECK(hand.layers.buffers == std::vector<ValueId>{u, v});
  }
}

}  // namespace
}  // namespace vramplan
