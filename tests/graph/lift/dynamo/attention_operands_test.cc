#include "graph/lift/dynamo/attention_operands.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

TEST_CASE("a mask that an earlier call turned into numbers is the mask of this call, too") {
  // Llama and GPT-2 of fixed lengths: the exporter merges the Where of all calls into the first call's group.
  const Graph graph = GraphFromText(R"(
    agraph (float[1, 2, 3, 4] q, float[1, 2, 4, 3] k, float[1, 2, 3, 4] v, bool[1, 1, 3, 3] m) => (float[1, 2, 3, 4] y) {
      zero = Constant <value = float {0.0}> ()
      low = Constant <value = float {-1e38}> ()
      bias = Where (m, zero, low)
      scores = MatMul (q, k)
      s = Add (scores, bias)
      w = Softmax <axis = -1> (s)
      y = MatMul (w, v)
    })");
  std::vector<NodeId> nodes;
  for (const char* name : {"scores", "s", "w", "y"}) nodes.push_back(graph[TensorNamed(graph, name)].producer);
  const auto operands = AttentionOperands(graph, nodes);
  std::vector<std::string> names;
  for (const TensorId id : operands) names.push_back(graph[id].name);
  CHECK(names == std::vector<std::string>{"q", "k", "v", "m"});
}

}  // namespace
}  // namespace vramplan
