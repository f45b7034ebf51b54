#include <doctest/doctest.h>

#include "graph/lift/torchscript/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

struct Pair {
  LayersByHand hand;
  ValueId Parameter(const std::string& name, Shape shape) {
    hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = shape, .role = Role::kParameter});
    hand.layers.parameters.push_back(ValueId{static_cast<int32_t>(hand.layers.values.size()) - 1});
    return hand.layers.parameters.back();
  }
  // A dropout and two products in one scope, as TorchScript has them.
  void Add(const std::string& scope, ValueId x, ValueId a, ValueId b) {
    hand.layers.modules.push_back({.path = scope, .class_name = "", .parent = ModuleId{0}});
    const ModuleId module{static_cast<int32_t>(hand.layers.modules.size()) - 1};
    const ValueId dropped = hand.Add("dropout", {x}, {Dim::Batch(), 64});
    hand.layers.layers.back().module = module;
    const ValueId low = hand.Add("linear", {dropped, a}, {Dim::Batch(), 4});
    hand.layers.layers.back().module = module;
    hand.Add("linear", {low, b}, {Dim::Batch(), 64});
    hand.layers.layers.back().module = module;
  }
  std::string Names() const {
    std::string text;
    for (const ValueId id : hand.layers.parameters) text += hand.layers[id].name + "\n";
    for (const Layer& layer : hand.layers.layers) {
      text += layer.op + " in " + hand.layers[layer.module].path;
      text += layer.inputs.size() > 1 ? " of " + hand.layers[layer.inputs[1]].name + "\n" : "\n";
    }
    return text;
  }
};

TEST_CASE("pairs get the names of the model back, each its own matrices") {
  Pair pair;
  const ValueId x = pair.hand.Input("x", {Dim::Batch(), 64});
  pair.Parameter("q.base_layer.weight", {64, 64});
  const ValueId a = pair.Parameter("q.default.weight", {4, 64}), zeros = pair.Parameter("q.default.weight", {64, 4});
  pair.Parameter("v.base_layer.weight", {64, 64});
  const ValueId c = pair.Parameter("v.default.weight", {4, 64});
  pair.Add("q.default", x, a, zeros);
  pair.Add("v.default", x, c, zeros);
  RestoreLowRankPairs(&pair.hand.layers);
  CHECK(pair.Names() ==
        "q.base_layer.weight\n"
        "q.lora_A.default.weight\n"
        "q.lora_B.default.weight\n"
        "v.base_layer.weight\n"
        "v.lora_A.default.weight\n"
        "v.lora_B.default.weight\n"
        "dropout in q.lora_dropout.default\n"
        "linear in q.lora_A.default of q.lora_A.default.weight\n"
        "linear in q.lora_B.default of q.lora_B.default.weight\n"
        "dropout in v.lora_dropout.default\n"
        "linear in v.lora_A.default of v.lora_A.default.weight\n"
        "linear in v.lora_B.default of v.lora_B.default.weight\n");
}

TEST_CASE("two products in one scope without a base layer beside it stay as they are") {
  Pair pair;
  const ValueId x = pair.hand.Input("x", {Dim::Batch(), 64});
  const ValueId a = pair.Parameter("q.default.weight", {4, 64}), b = pair.Parameter("q.default.bias", {64, 4});
  pair.Add("q.default", x, a, b);
  const std::string before = pair.Names();
  RestoreLowRankPairs(&pair.hand.layers);
  CHECK(pair.Names() == before);
}

// def forward(self, x): return F.linear(x, self.weight) + self.drop(x) @ self.lora_A.T @ self.lora_B.T
TEST_CASE("a layer of somebody's own that computes its base and a pair beside it") {
  for (const bool has_base : {true, false}) {
    Pair pair;
    const ValueId x = pair.hand.Input("x", {Dim::Batch(), 64});
    const ValueId base = pair.Parameter("h.c_attn.weight", {has_base ? 64 : 32, 64});
    const ValueId a = pair.Parameter("h.c_attn.weight", {4, 64}), b = pair.Parameter("h.c_attn.weight", {64, 4});
    pair.Add("h.c_attn", x, a, b);
    pair.hand.Add("linear", {x, base}, {Dim::Batch(), has_base ? 64 : 32});
    pair.hand.layers.layers.back().module = ModuleId{static_cast<int32_t>(pair.hand.layers.modules.size()) - 1};
    RestoreLowRankPairs(&pair.hand.layers);
    CHECK(pair.hand.layers[base].name == "h.c_attn.weight");
    CHECK(pair.hand.layers[a].name == (has_base ? "h.c_attn.lora_A" : "h.c_attn.weight"));
    CHECK(pair.hand.layers[b].name == (has_base ? "h.c_attn.lora_B" : "h.c_attn.weight"));
  }
}

TEST_CASE("a dropout that two modules share is two") {
  Pair pair;
  const ValueId x = pair.hand.Input("x", {Dim::Batch(), 64});
  const ValueId a = pair.Parameter("q.lora_A.default.weight", {4, 64});
  const ValueId b = pair.Parameter("v.lora_A.default.weight", {4, 64});
  const auto add = [&](const char* op, const char* path, std::vector<ValueId> inputs, int64_t length) {
    const ValueId out = pair.hand.Add(op, std::move(inputs), {Dim::Batch(), Dim(length)});
    pair.hand.layers.modules.push_back({.path = path, .class_name = "", .parent = ModuleId{0}});
    pair.hand.layers.layers.back().module = ModuleId{static_cast<int32_t>(pair.hand.layers.modules.size()) - 1};
    return out;
  };
  const ValueId dropped = add("dropout", "q.lora_dropout.default", {x}, 64);
  add("linear", "q.lora_A.default", {dropped, a}, 4);
  add("linear", "v.lora_A.default", {dropped, b}, 4);
  RestoreLowRankPairs(&pair.hand.layers);
  CHECK(pair.Names() ==
        "q.lora_A.default.weight\n"
        "v.lora_A.default.weight\n"
        "dropout in q.lora_dropout.default\n"
        "linear in q.lora_A.default of q.lora_A.default.weight\n"
        "dropout in v.lora_dropout.default\n"
        "linear in v.lora_A.default of v.lora_A.default.weight\n");
  const std::vector<Layer>& layers = pair.hand.layers.layers;
  CHECK(layers[2].inputs == std::vector{x});
  CHECK(layers[3].inputs[0] == layers[2].outputs[0]);
}

}  // namespace
}  // namespace vramplan
