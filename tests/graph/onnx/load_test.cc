#include "graph/onnx/load.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

TEST_CASE("a graph as text becomes tensors, nodes and provenance") {
  const Graph graph = GraphFromText(R"(
    # signature: p_fc_weight: PARAMETER target='fc.weight'
    agraph (float[batch, 3] x) => (float[batch, 10] y) <float[10, 3] `fc.weight`, float[10] bias = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9.5}> {
      h = Gemm <transB = 1, alpha = 2.0> (x, `fc.weight`, bias)
        # name: /fc/Gemm
        # fx_node: %linear : call_function[target=torch.ops.aten.linear.default](args = (%x), kwargs = {})
        # pkg.other.key: not read
      y = Relu (h)
    })");
  REQUIRE(graph.nodes.size() == 2);
  CHECK(graph.nodes[0].name == "/fc/Gemm");
  CHECK(graph.nodes[0].op == "Gemm");
  CHECK(graph.nodes[0].attributes.Int("transB", 0) == 1);
  CHECK(graph.nodes[0].attributes.Real("alpha", 0) == 2.0);
  CHECK(graph.nodes[0].provenance.fx_node ==
        "%linear : call_function[target=torch.ops.aten.linear.default](args = (%x), kwargs = {})");
  CHECK(graph.nodes[1].name == "Relu_1");
  CHECK(graph.signature == "# inputs\np_fc_weight: PARAMETER target='fc.weight'\n");
  CHECK(graph.opset() == 17);
  const Tensor& weight = graph[TensorNamed(graph, "fc.weight")];
  REQUIRE(weight.stored);
  CHECK(weight.stored->external);
  CHECK(weight.stored->dims == std::vector<int64_t>{10, 3});
  CHECK(graph.nodes[0].inputs ==
        std::vector<TensorId>{TensorNamed(graph, "x"), TensorNamed(graph, "fc.weight"), TensorNamed(graph, "bias")});
}

}  // namespace
}  // namespace vramplan
