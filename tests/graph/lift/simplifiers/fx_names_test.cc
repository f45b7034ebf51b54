#include "graph/lift/simplifiers/fx_names.h"

#include <doctest/doctest.h>

#include "graph/lift/simplifiers/passes.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

Graph ByDynamo(std::string_view text) {
  Graph graph = GraphFromText(text);
  graph.producer = "pytorch 2.10.0";
  return graph;
}

TEST_CASE("names of fx nodes are aten operators with a count") {
  struct Case {
    const char *name, *op;
  };
  for (const Case& c :
       {Case{"linear_3", "linear"}, Case{"linear", "linear"}, Case{"getitem_2", "getitem"}, Case{"val_93", ""},
        Case{"_v_12", ""}, Case{"layer1.0.weight", ""}, Case{"gamma", ""}, Case{"mean", ""}, Case{"mean_1", "mean"}}) {
    CAPTURE(c.name);
    CHECK(FxOperatorOf(c.name) == c.op);
  }
}

TEST_CASE(
    "names are all that is left only without metadata, in files of PyTorch with nodes called as the exporter does") {
  const std::string node = R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      y = Relu (x)
        # name: node_relu)";
  CHECK(HasFxNames(ByDynamo(node + "\n}")));
  CHECK_FALSE(HasFxNames(GraphFromText(node + "\n}")));  // another producer
  CHECK_FALSE(HasFxNames(ByDynamo(
      node + "\n        # fx_node: %relu : call_function[target=torch.ops.aten.relu.default](args = (%x,))\n}")));
  CHECK_FALSE(HasFxNames(ByDynamo("agraph (float[batch, 4] x) => (float[batch, 4] y) { y = Relu (x)\n }")));
}

TEST_CASE("a product that is no fx node's last has lost what stood behind it") {
  // onnxslim 0.1.98 and onnxsim 0.8.1 on a linear whose bias is zeros.
  const Graph graph = ByDynamo(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float[4, 4] val_2> {
      linear = MatMul (x, val_2)
        # name: node_MatMul_3
      val_5 = MatMul (linear, val_2)
        # name: node_MatMul_6
      linear_2 = MatMul (val_5, val_2)
        # name: node_linear_2
      y = MatMul (linear_2, val_2)
        # name: /fc/MatMul
    })");
  std::vector<bool> lost;
  for (int32_t n = 0; n < 4; ++n) lost.push_back(LostLastNode(graph, NodeId{n}));
  CHECK(lost == std::vector<bool>{true, true, false, false});
}

TEST_CASE("a layer at the end by its name") {
  for (const char* path : {"m.lm_head", "cls.predictions.decoder", "head"}) CHECK(IsOutputLayer(path));
  for (const char* path : {"m.model.embed_tokens", "wte", "decoder.embed"}) CHECK_FALSE(IsOutputLayer(path));
}

TEST_CASE("scopes of nodes from the names of what they read") {
  const Graph graph = ByDynamo(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <
      float[4] `blocks.0.norm1.weight`, float[4] `blocks.0.norm1.bias`, float[4, 4] val_1,
      float[4] `blocks.0.attn.qkv.bias`, float[4, 4] val_2, float[4] `blocks.0.attn.proj.bias`,
      float[4] `blocks.0.norm2.weight`, float[4] `blocks.0.norm2.bias`, float[4, 4] val_3> {
      layer_norm = LayerNormalization (x, `blocks.0.norm1.weight`, `blocks.0.norm1.bias`)
        # name: node_layer_norm
      permute = Transpose <perm = [0, 1]> (layer_norm)
        # name: node_permute
      val_4 = MatMul (permute, val_1)
        # name: node_MatMul_4
      linear = Add (val_4, `blocks.0.attn.qkv.bias`)
        # name: node_linear
      relu = Relu (linear)
        # name: node_relu
      linear_1 = Gemm (relu, val_2, `blocks.0.attn.proj.bias`)
        # name: node_linear_1
      permute_1 = Transpose <perm = [0, 1]> (linear_1)
        # name: node_permute_1
      add = Add (x, permute_1)
        # name: node_add
      layer_norm_1 = LayerNormalization (add, `blocks.0.norm2.weight`, `blocks.0.norm2.bias`)
        # name: node_layer_norm_1
      linear_2 = MatMul (layer_norm_1, val_3)
        # name: node_linear_2
      add_1 = Add (add, linear_2)
        # name: node_add_1
      y = Relu (add_1)
        # name: node_relu_1
    })");
  const std::string block = "/blocks/blocks.0";
  CHECK(FxScopes(graph) == std::vector<std::string>{block + "/norm1", block + "/attn", block + "/attn/qkv",
                                                    block + "/attn/qkv", block + "/attn", block + "/attn/proj",
                                                    block + "/attn", block, block + "/norm2", block + "/mlp/linear_2",
                                                    block, block});
}

TEST_CASE("scopes in convolutional networks: sums of a block, modules of activations") {
  const auto scopes = [](const std::string& nodes) {
    return FxScopes(ByDynamo(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] `layer1.0.conv1.weight`, float[4, 4, 1, 1] `layer1.0.conv2.weight`,
      float[4, 4, 1, 1] `layer1.1.conv1.weight`, float[4, 4, 1, 1] `layer1.1.conv2.weight`> {
      getitem = Conv (x, `layer1.0.conv1.weight`)
        # name: node_Conv_1
      relu = Relu (getitem)
        # name: node_relu
      getitem_1 = Conv (relu, `layer1.0.conv2.weight`)
        # name: node_Conv_2
)" + nodes + "}"));
  };
  // ResNet: out += identity; relu(out), inside of the block.
  const std::string block = "/layer1/layer1.0";
  CHECK(scopes(R"(
      add = Add (getitem_1, x)
        # name: node_add
      relu_1 = Relu (add)
        # name: node_relu_1
      y = Conv (relu_1, `layer1.1.conv1.weight`)
        # name: node_Conv_3
)") == std::vector<std::string>{block + "/conv1", block + "/relu", block + "/conv2", block, block,
                                "/layer1/layer1.1/conv1"});
}

TEST_CASE("numbered modules of which not only the last gives its result away are a list, which is not called") {
  const auto scopes = [](const std::string& second) {
    return FxScopes(ByDynamo(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] `down.0.conv.weight`, float[4, 4, 1, 1] `down.1.conv.weight`,
      float[4, 4, 1, 1] `up.conv.weight`> {
      conv2d = Conv (x, `down.0.conv.weight`)
        # name: node_conv2d
      conv2d_1 = Conv (conv2d, `down.1.conv.weight`)
        # name: node_conv2d_1
      conv2d_2 = Conv ()" + second +
                             R"(, `up.conv.weight`)
        # name: node_conv2d_2
      y = Add (conv2d_2, conv2d_1)
        # name: node_add
    })"))[0];
  };
  CHECK(scopes("conv2d") == "/down.0/conv");
  CHECK(scopes("conv2d_1") == "/down/down.0/conv");
}

TEST_CASE("a numbered module that reads more than the one before gave is of a list") {
  const auto scopes = [](const std::string& second) {
    return FxScopes(ByDynamo(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] `stem.weight`, float[4, 4, 1, 1] `down.1.conv.weight`, float[4, 4, 1, 1] `up.0.conv.weight`,
      float[4, 4, 1, 1] `up.1.conv.weight`> {
      conv2d = Conv (x, `stem.weight`)
        # name: node_conv2d
      max_pool2d = MaxPool <kernel_shape = [1, 1]> (conv2d)
        # name: node_max_pool2d
      conv2d_1 = Conv (max_pool2d, `down.1.conv.weight`)
        # name: node_conv2d_1
      conv2d_2 = Conv (conv2d_1, `up.0.conv.weight`)
        # name: node_conv2d_2
      y = Conv ()" + second +
                             R"(, `up.1.conv.weight`)
        # name: node_conv2d_3
    })"));
  };
  CHECK(scopes("conv2d")[4] == "/up.1/conv");
  CHECK(scopes("conv2d_2")[4] == "/up/up.1/conv");
}

TEST_CASE("onnxslim's order is taken back; the exporter's is left alone") {
  const auto names = [](const std::string& nodes) {
    const auto reordered = InCallOrder(ByDynamo(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float[4, 4] val_1, float[4, 4] val_2> {
)" + nodes + R"(
      y = Mul (relu, relu_1)
        # name: node_mul
    })"),
                                       Shapes(), nullptr);
    std::vector<std::string> order;
    for (size_t n = 0; reordered && n < reordered->graph.nodes.size(); ++n) {
      const Node& node = reordered->graph.nodes[n];
      order.push_back(node.name + " was " + std::to_string(reordered->given[n].value));
      CHECK(reordered->graph[node.outputs[0]].producer.value == static_cast<int32_t>(n));
    }
    return order;
  };
  const std::string first = "linear = MatMul (x, val_1)\n # name: node_linear\n";
  const std::string second = "linear_1 = MatMul (x, val_2)\n # name: node_linear_1\n";
  const std::string relu = "relu = Relu (linear)\n # name: node_relu\n";
  const std::string relu_1 = "relu_1 = Relu (linear_1)\n # name: node_relu_1\n";
  CHECK(names(first + relu + second + relu_1).empty());
  CHECK(names(second + first + relu_1 + relu) == std::vector<std::string>{"node_linear was 1", "node_relu was 3",
                                                                          "node_linear_1 was 0", "node_relu_1 was 2",
                                                                          "node_mul was 4"});
}

}  // namespace
}  // namespace vramplan
