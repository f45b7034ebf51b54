#include "graph/shapes/branches.h"

#include <doctest/doctest.h>

#include "tests/support/graph_invariants.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

std::string NodesOf(const Graph& graph) {
  std::string text;
  for (const Node& node : graph.nodes) {
    text += node.op + "(";
    for (const TensorId input : node.inputs) text += graph[input].name + " ";
    text += ")->" + graph[node.outputs[0]].name + " ";
  }
  return text;
}

constexpr const char* kMerged = R"(
    agraph (float[batch, 9] x, float[batch, past] cache, bool use_cache) => (float[batch, n] y) <float[9, 9] w> {
      y = If (use_cache) <then_branch = yes () => (float[batch, past] a) { h = Relu (cache)
                                                                           a = Relu (h) },
                          else_branch = no () => (float[batch, 9] b) { h = MatMul (x, w)
                                                                       b = Relu (h) }>
    })";

TEST_CASE("where an input decides, the branch with more weights is counted, and the other's inputs are gone") {
  Notes notes;
  const auto graph = WithoutBranches(GraphFromText(kMerged), {}, &notes);
  REQUIRE(graph.has_value());
  CHECK(BrokenInvariant(*graph).empty());
  CHECK(NodesOf(*graph) == "MatMul(x w )->h Relu(h )->y ");
  REQUIRE(graph->inputs.size() == 1);
  CHECK((*graph)[graph->inputs[0]].name == "x");
  const auto meant = WithoutBranches(GraphFromText(kMerged), {.dims = {{"past", 4}}}, &notes);
  REQUIRE(meant.has_value());
  CHECK(meant->inputs.size() == 2);  // --dim past=4 is understood
  CHECK((*graph)[TensorNamed(*graph, "y")].producer == NodeId{1});
  CHECK(notes.Has("larger-branch"));
  const auto binding = Bind(*graph, {}, &notes);
  REQUIRE(binding.ok());
  const auto shapes = Infer(*graph, *binding, &notes);
  REQUIRE(shapes.ok());
  CHECK(ToString(*(*shapes)[TensorNamed(*graph, "y")].shape) == "[B, 9]");
}

TEST_CASE("a condition that shapes decide chooses its branch without a note") {
  Notes notes;
  const auto graph = WithoutBranches(GraphFromText(R"(
    agraph (float[batch, 9] x) => (float[batch, 9] y) <int64 nine = {9}, int64 one = {1}, float[9, 9] w> {
      s = Shape (x)
      d = Gather (s, one)
      c = Equal (d, nine)
      y = If (c) <then_branch = yes () => (float[batch, 9] a) { a = Relu (x) },
                  else_branch = no () => (float[batch, 9] b) { b = MatMul (x, w) }>
    })"),
                                     {}, &notes);
  REQUIRE(graph.has_value());
  CHECK(BrokenInvariant(*graph).empty());
  CHECK(NodesOf(*graph) == "Shape(x )->s Gather(s one )->d Equal(d nine )->c Relu(x )->y ");
  CHECK(notes.all().empty());
}

TEST_CASE("a branch in a branch is replaced too, and what a branch hands through is an identity") {
  Notes notes;
  const auto graph = WithoutBranches(GraphFromText(R"(
    agraph (float[batch, 9] x, bool c) => (float[batch, 9] y, float[batch, 9] z) {
      y, z = If (c) <then_branch = yes () => (float[batch, 9] a, float[batch, 9] x2) {
                       t = Tanh (x)
                       a = If (c) <then_branch = inner () => (float[batch, 9] u) { v = Relu (t)
                                                                                  u = Exp (v) },
                                   else_branch = other () => (float[batch, 9] o) { o = Relu (t) }>
                       x2 = Identity (x) },
                     else_branch = no () => (float[batch, 9] b, float[batch, 9] e) { b = Relu (x)
                                                                                    e = Relu (x) }>
    })"),
                                     {}, &notes);
  REQUIRE(graph.has_value());
  CHECK(BrokenInvariant(*graph).empty());
  CHECK(NodesOf(*graph) == "Tanh(x )->t Relu(t )->v Exp(v )->y Identity(x )->z ");
  CHECK(!WithoutBranches(*graph, {}, &notes).has_value());
}

}  // namespace
}  // namespace vramplan
