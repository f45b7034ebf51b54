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

TEST_CASE("a layer at the end by its name") {
  for (const char* path : {"m.lm_head", "cls.predictions.decoder", "head"}) CHECK(IsOutputLayer(path));
  for (const char* path : {"m.model.embed_tokens", "wte", "decoder.embed"}) CHECK_FALSE(IsOutputLayer(path));
}

}  // namespace
}  // namespace vramplan
