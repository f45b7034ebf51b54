#include "graph/lift/liveness.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

std::string Live(std::string_view text) {
  const Graph graph = GraphFromText(text);
  const std::vector<bool> live = LiveNodes(graph);
  std::string names;
  for (size_t n = 0; n < live.size(); ++n) {
    if (live[n]) names += (names.empty() ? "" : " ") + graph.nodes[n].op;
  }
  return names;
}

TEST_CASE("only data is live") {
  SUBCASE("arithmetic of sizes") {
    CHECK(Live(R"(g (float[batch, 4, 8] x) => (float[n, m] y) <int64[1] zero = {0}, int64[1] rest = {-1}> {
      shape = Shape (x)
      first = Gather (shape, zero)
      target = Concat <axis = 0> (first, rest)
      flat = Reshape (x, target)
      y = Relu (flat)
    })") == "Reshape Relu");
  }
  SUBCASE("a size that became a number") {
    CHECK(Live(R"(g (float[batch, 8] x) => (float[batch, 8] y) <int64[1] one = {1}> {
      shape = Shape (x)
      width = Gather (shape, one)
      real = Cast <to = 1> (width)
      root = Sqrt (real)
      y = Div (x, root)
    })") == "Div");
  }
  SUBCASE("a range of positions is made on the device") {
    CHECK(Live(R"(g (int64[batch, seq] ids) => (float[seq, 8] y)
        <float[16, 8] table, int64 one = {1}, int64 zero = {0}> {
      shape = Shape (ids)
      length = Gather (shape, one)
      positions = Range (zero, length, one)
      y = Gather (table, positions)
    })") == "Range Gather");
  }
  SUBCASE("what nobody needs") {
    CHECK(Live(R"(g (float[batch, 8] x) => (float[batch, 8] y) {
      unused = Exp (x)
      y = Relu (x)
    })") == "Relu");
  }
}

TEST_CASE("shape operands") {
  struct Case {
    const char* op;
    std::vector<size_t> operands;
  };
  const Case cases[] = {{"Reshape", {1}},    {"Slice", {1, 2, 3, 4}}, {"Resize", {1, 2, 3}}, {"Range", {0, 1, 2}},
                        {"Dropout", {1, 2}}, {"Gather", {}},          {"Where", {}},         {"Shape", {0}},
                        {"ReduceMean", {1}}, {"TopK", {1}},           {"Pad", {1, 2, 3}},    {"Conv", {}},
                        {"Tile", {1, 2}},    {"Clip", {1, 2}}};
  for (const Case& c : cases) {
    CAPTURE(c.op);
    Node node{.op = c.op};
    std::vector<size_t> found;
    for (size_t i = 0; i < 6; ++i) {
      if (IsShapeOperand(node, i)) found.push_back(i);
    }
    CHECK(found == c.operands);
    node.domain = "com.microsoft";
    CHECK_FALSE(IsShapeOperand(node, 0));
  }
}

}  // namespace
}  // namespace vramplan
