#include <doctest/doctest.h>

#include <algorithm>

#include "graph/lift/any_export/passes.h"
#include "graph/onnx/load.h"
#include "tests/support/layers_by_hand.h"
#include "tests/support/layers_text.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

ValueId Parameter(LayersByHand& hand, const char* name, Shape shape) {
  hand.layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = shape, .role = Role::kParameter});
  const ValueId id{static_cast<int32_t>(hand.layers.values.size()) - 1};
  hand.layers.parameters.push_back(id);
  return id;
}

TEST_CASE("a folded batch norm comes back behind its convolution, which loses its bias") {
  // resnet18.ts-eval with it: 351.23 MiB requested at batch 8, as the training export.
  for (const bool folded : {true, false}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 3, 8, 8});
    const ValueId weight = Parameter(hand, "conv.weight", {4, 3, 3, 3}), bias = Parameter(hand, "conv.bias", {4});
    const ValueId y = hand.Add("conv2d", {x, weight, bias}, {Dim::Batch(), 4, 8, 8});
    if (folded) hand.attributes().Set("folded_norm", int64_t{1});
    hand.layers.outputs = {hand.Add("relu", {y}, {Dim::Batch(), 4, 8, 8})};
    CHECK(AssumeBatchNorm(&hand.layers) == (folded ? 1 : 0));
    CHECK(OperatorsOf(hand.layers) == (folded ? "conv2d batch_norm relu" : "conv2d relu"));
    if (!folded) continue;
    const std::vector<Layer>& layers = hand.layers.layers;
    CHECK_FALSE(layers[0].inputs[2].valid());
    CHECK(layers[1].inputs[0] == layers[0].outputs[0]);
    CHECK(layers[1].outputs[0] == y);
    CHECK(hand.layers[layers[1].module].path == "conv_norm");  // a call of its own
    CHECK(ToText(hand.layers, hand.layers.parameters) ==
          std::vector<std::string>{"conv.weight [4, 3, 3, 3]", "conv_norm.weight [4]", "conv_norm.bias [4]"});
    CHECK(ToText(hand.layers, hand.layers.buffers) ==
          std::vector<std::string>{"conv_norm.running_mean [4]", "conv_norm.running_var [4]",
                                   "conv_norm.num_batches_tracked [] int64"});
  }
}

TEST_CASE("a folded batch norm goes where the activation behind it stands alone") {
  for (const bool alone : {true, false}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 4, 8, 8});
    const ValueId weight = Parameter(hand, "block.conv.weight", {4, 4, 3, 3});
    const Shape map{Dim::Batch(), 4, 8, 8};
    hand.layers.modules = {{"", "", {}},
                           {"block", "", ModuleId{0}},
                           {"block.conv", "", ModuleId{1}},
                           {"block.adn", "", ModuleId{1}},
                           {"block.adn.A", "", ModuleId{3}}};
    const ValueId y = hand.Add("conv2d", {x, weight}, map);
    hand.attributes().Set("folded_norm", int64_t{1});
    const ValueId z = hand.Add("relu", {y}, map);
    hand.layers.outputs = {hand.Add("relu", {z}, map)};
    hand.layers.layers[0].module = ModuleId{2};
    hand.layers.layers[1].module = ModuleId{4};
    hand.layers.layers[2].module = ModuleId{alone ? 0 : 3};
    CHECK(AssumeBatchNorm(&hand.layers) == 1);
    const Layer& norm = hand.layers.layers[1];
    REQUIRE(norm.op == "batch_norm");
    CHECK(hand.layers[norm.module].parent == ModuleId{alone ? 3 : 1});
  }
}

TEST_CASE("dropouts of a transformer's block: embeddings, attention, in front of residual sums") {
  const Shape states{Dim::Batch(), 6, 8};
  LayersByHand hand;
  const ValueId ids = hand.Input("ids", {Dim::Batch(), 6});
  const ValueId words = hand.Add("embedding", {Parameter(hand, "wte", {100, 8}), ids}, states);
  const ValueId places = hand.Add("embedding", {Parameter(hand, "wpe", {6, 8}), ids}, states);
  const ValueId x = hand.Add("add", {words, places}, states);
  const ValueId query = hand.Add("linear", {x, Parameter(hand, "q", {8, 8})}, states);
  const ValueId mixed = hand.Add("scaled_dot_product_attention", {query, query, query}, states);
  const ValueId out = hand.Add("linear", {mixed, Parameter(hand, "o", {8, 8})}, states);
  const ValueId sum = hand.Add("add", {out, x}, states);
  hand.layers.outputs = {hand.Add("linear", {sum, Parameter(hand, "head", {100, 8})}, {Dim::Batch(), 6, 100})};
  CHECK(AssumeDropout(&hand.layers, {.dropout = 0.1}) == 3);
  CHECK(OperatorsOf(hand.layers) ==
        "embedding embedding add dropout linear scaled_dot_product_attention linear dropout add linear");
  CHECK(hand.layers.layers[5].attributes.Real("dropout_p", 0) == 0.1);
  CHECK(AssumeDropout(&hand.layers, {.dropout = 0.1}) == 0);  // it has dropouts now
}

Layers WithAttention(const std::string& nodes) {
  return testing::Lifted(R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8, 8] `onnx::MatMul_1`, float[8, 8] `fc.weight`, float[8] `bn.weight`, float[8] `bn.bias`,
      float[8] `bn.running_mean`, float[8] `bn.running_var`> {
      p = Constant <value = float {0.1}> ()
      yes = Constant <value = bool {1}> ()
      h = MatMul (x, `onnx::MatMul_1`)
)" + nodes + "}");
}
constexpr const char* kAttention = R"(
      t = Transpose <perm = [0, 2, 1]> (x)
      s = MatMul (h, t)
      w = Softmax <axis = -1> (s)
      o = MatMul (w, x)
)";

TEST_CASE("dropouts may be missing where there is attention and no dropout") {
  const std::string attention = kAttention;
  CHECK(MissingDropouts(WithAttention(attention + "y = Add (o, x)")) == 1);
  CHECK(MissingDropouts(WithAttention("y = Add (h, x)")) == 0);  // no attention
  CHECK(MissingDropouts(WithAttention(attention + "d = Dropout (o, p, yes)\n y = Add (d, x)")) == 0);
}

TEST_CASE("a dropout in front of the residual sum, behind a convolution over one position that is turned back") {
  const Shape states{Dim::Batch(), 6, 8}, turned{Dim::Batch(), 8, 6};
  for (const int64_t width : {1, 3}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", states);
    const ValueId wide = hand.Add("linear", {x, Parameter(hand, "in", {8, 8})}, states);
    const ValueId forth = hand.Add("transpose", {wide}, turned);
    const ValueId made = hand.Add("conv1d", {forth, Parameter(hand, "conv2", {8, 8, width})}, turned);
    const ValueId back = hand.Add("transpose", {made}, states);
    hand.layers.outputs = {hand.Add("add", {wide, back}, states)};
    CHECK(AssumeDropout(&hand.layers, {.dropout = 0.1}) == (width == 1 ? 1 : 0));
  }
}

TEST_CASE("what only an export of model.train() has, and what only one of model.eval()") {
  const std::string attention = kAttention;
  const auto normalised = [&](const char* outputs, const char* mode) {
    return WithAttention(attention + "u = Transpose <perm = [0, 2, 1]> (o)\n" + outputs +
                         " = BatchNormalization <training_mode = " + mode +
                         "> (u, `bn.weight`, `bn.bias`, `bn.running_mean`, `bn.running_var`)\n" +
                         "y = Transpose <perm = [0, 2, 1]> (n)\n")
        .exported;
  };
  CHECK(normalised("n, m, v", "1") == ExportedMode::kTraining);
  CHECK(normalised("n", "0") == ExportedMode::kEvaluation);
  CHECK(WithAttention(attention + "y = Add (o, x)").exported == ExportedMode::kEvaluation);  // onnx::MatMul_1
  CHECK(WithAttention(attention + "d = Dropout (o, p, yes)\n y = Add (d, x)").exported == ExportedMode::kTraining);
  CHECK(WithAttention(attention + "r = Transpose <perm = [1, 0]> (`fc.weight`)\n y = MatMul (o, r)").exported ==
        ExportedMode::kTraining);
  // The dynamo exporter transposes weights in either mode: an output layer that is tied to the embedding.
  Notes notes;
  Result<Graph> graph = Load(std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data/zoo/gpt2.dynamo-train.onnx", &notes);
  REQUIRE(graph.ok());
  Graph evaluation = *std::move(graph);
  const bool transposes = std::ranges::any_of(evaluation.nodes, [&](const Node& node) {
    return node.op == "Transpose" && evaluation[node.inputs[0]].stored.has_value();
  });
  CHECK(transposes);
  std::erase_if(evaluation.nodes, [](const Node& node) { return node.op == "Dropout"; });
  CHECK(ExportedModeOf(evaluation) == ExportedMode::kUnknown);
}

}  // namespace
}  // namespace vramplan
