#include "planner/runtimes/given_graph.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/runtimes/fusions.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

Layers Given(const char* text, Notes* notes) {
  const Graph graph = GraphFromText(text);
  const auto binding = Bind(graph, {}, notes);
  REQUIRE(binding.ok());
  const auto shapes = Infer(graph, *binding, notes);
  REQUIRE(shapes.ok());
  return GivenGraph(graph, *shapes, notes);
}

std::string Operators(const Layers& layers) {
  std::string text;
  for (const Layer& layer : layers.layers) text += (text.empty() ? "" : " ") + layer.op;
  return text;
}
std::string Weights(const Layers& layers) {
  std::string text;
  for (const ValueId id : layers.parameters) text += (text.empty() ? "" : " ") + layers[id].name;
  return text;
}

TEST_CASE("what is computed from weights alone is a weight; shapes stay on the host") {
  Notes notes;
  const Layers given = Given(R"(
    agraph (float[batch, 8] x) => (float[batch, 4] y) <float[4, 8] w, float[4] b, int64[1] last = {-1}> {
      t = Transpose (w)
      s = Shape (x)
      n = Gather (s, last)
      c = Concat <axis = 0> (last, n)
      r = Reshape (x, c)
      h = MatMul (r, t)
      same = Identity (b)
      y = Add (h, same)
    })",
                             &notes);
  CHECK(Operators(given) == "Reshape MatMul Add");
  CHECK(Weights(given) == "b t");
  CHECK(given[given.layers[0].inputs[1]].role == Role::kConstant);
  CHECK(notes.all().empty());
}

TEST_CASE("of two producers the later one in the file runs first") {
  // Seen with ONNX Runtime 1.31: of outputs that nothing connects the last one is made first.
  const Graph graph = GraphFromText(R"(
    agraph (float[4] x) => (float[4] y, float[4] z) {
      a = Exp (x)
      b = Relu (x)
      y = Add (a, b)
      z = Neg (x)
    })");
  std::string order;
  for (const NodeId id : OrderOfExecution(graph)) order += graph[id].op + " ";
  CHECK(order == "Neg Relu Exp Add ");
}

TEST_CASE("a node with a subgraph is said") {
  Notes notes;
  const Layers given = Given(R"(
    agraph (bool c, float[4] x) => (float[4] y) {
      y = If (c) <then_branch = g1 () => (float[4] a) { a = Exp (x) }, else_branch = g2 () => (float[4] b) { b = Neg (x) }>
    })",
                             &notes);
  bool said = false;
  for (const Note& note : notes.all()) said |= note.code == "subgraphs-not-followed";
  CHECK(said);
}

TEST_CASE("what ONNX Runtime fuses") {
  struct Row {
    const char* name;
    const char* graph;
    const char* operators;
    const char* weights;
  };
  const Row rows[] = {
      {"a bias",
       "agraph (float[batch, 8] x) => (float[batch, 4] y) <float[8, 4] w, float[4] b> {\n"
       " h = MatMul (x, w)\n y = Add (b, h)\n }",
       "Gemm", "w b"},
      {"a bias behind more axes: the product is a matrix",
       "agraph (float[batch, 3, 8] x) => (float[batch, 3, 4] y) <float[8, 4] w, float[4] b> {\n"
       " h = MatMul (x, w)\n y = Add (h, b)\n }",
       "Gemm Reshape", "w b"},
      {"a sum with an activation is no bias",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) <float[8, 8] w> {\n h = MatMul (x, w)\n y = Add (h, x)\n }",
       "MatMul Add", "w"},
      {"silu",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n s = Sigmoid (a)\n m = Mul (a, s)\n"
       " y = Exp (m)\n }",
       "Exp com.microsoft.QuickGelu Exp", ""},
      {"a gate of something else is no silu",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) {\n a = Exp (x)\n s = Sigmoid (a)\n m = Mul (x, s)\n"
       " y = Exp (m)\n }",
       "Exp Sigmoid Mul Exp", ""},
      {"gelu of the TorchScript exporter",
       "agraph (float[batch, 8] x) => (float[batch, 8] y) <float r = {1.4142}, float one = {1}, float half = {0.5}> {\n"
       " a = Exp (x)\n d = Div (a, r)\n e = Erf (d)\n p = Add (e, one)\n m = Mul (a, p)\n g = Mul (m, half)\n"
       " y = Exp (g)\n }",
       "Exp com.microsoft.Gelu Exp", ""},
      {"batch norm: its bias becomes the convolution's",
       "agraph (float[batch, 3, 8, 8] x) => (float[batch, 4, 6, 6] y)\n"
       " <float[4, 3, 3, 3] w, float[4] s, float[4] b, float[4] m, float[4] v> {\n"
       " c = Conv (x, w)\n n = BatchNormalization (c, s, b, m, v)\n y = Relu (n)\n }",
       "Conv Relu", "w b"},
      {"scale and transpose of a product",
       "agraph (float[batch, 4, 8] q, float[batch, 4, 8] k) => (float[batch, 4, 4] y) <float f = {0.5}> {\n"
       " s = Mul (q, f)\n t = Transpose <perm = [0, 2, 1]> (k)\n m = MatMul (s, t)\n d = Div (m, f)\n"
       " y = Softmax (d)\n }",
       "com.microsoft.FusedMatMul Softmax", ""},
      {"a residual sum that only the norm reads",
       "agraph (float[batch, 4, 8] x) => (float[batch, 4, 8] y) <float[8] w> {\n a = Exp (x)\n s = Add (a, x)\n"
       " y = LayerNormalization (s, w)\n }",
       "Exp com.microsoft.SkipLayerNormalization", "w"},
  };
  for (const Row& row : rows) {
    CAPTURE(row.name);
    Notes notes;
    Layers given = Given(row.graph, &notes);
    Fuse(&given);
    CHECK(Operators(given) == row.operators);
    CHECK(Weights(given) == row.weights);
  }
}

}  // namespace
}  // namespace vramplan
