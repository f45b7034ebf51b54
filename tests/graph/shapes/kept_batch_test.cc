#include "graph/shapes/kept_batch.h"

#include <doctest/doctest.h>

#include "graph/shapes/bounds.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

TEST_CASE("a batch that cannot be re-opened stays") {
  // The batch of 1 was broadcast with 3 rows.
  const Graph graph = GraphFromText(R"(
    agraph (float[1, 4] x, float[3, 4] y) => (float[3, 4] z) {
      z = Add (x, y)
    })");
  Notes notes;
  Result<Binding> binding = Bind(graph, {}, &notes);
  REQUIRE(binding.ok());
  REQUIRE(binding->fixed_batch == 1);
  const auto shapes = InferOrKeepBatch(graph, {}, &*binding, &notes);
  REQUIRE(shapes.ok());
  CHECK(ToString(*(*shapes)[TensorNamed(graph, "z")].shape) == "[3, 4]");
  CHECK_FALSE(binding->fixed_batch);
  CHECK(ToString(notes.all().back()) ==
        "warning: test.onnx: its batch cannot be taken as free and stays 1: node Add_0 (Add): the shapes [B, 4] and "
        "[3, 4] "
        "do not broadcast (hint: export it with a dynamic batch, or name another axis with --batch-dim INPUT:AXIS)");
}

TEST_CASE("bounds, which forgive contradictions, do not make a batch free that cannot be") {
  const Graph graph = GraphFromText(R"(
    agraph (float[3, 4] x) => (float[n] picked, float[3] z) <int64[1] zero = {0}> {
      i = NonZero (x)
      t = Transpose (i)
      picked = GatherND (x, t)
      s = ReduceSum <keepdims = 0> (i)
      r = Mul (x, s)
      three = Constant <value = int64[3] {1, 1, 1}> ()
      a, b, c = Split <axis = 0> (r, three)
      d = Squeeze (a, zero)
      z = ReduceSum <keepdims = 0> (d)
    })");
  for (const bool bounds : {false, true}) {
    Notes notes;
    Result<Binding> binding = Bind(graph, {}, &notes);
    REQUIRE(binding.ok());
    REQUIRE(binding->fixed_batch == 3);
    if (bounds) TakeBounds(&*binding);
    const auto shapes = InferOrKeepBatch(graph, {}, &*binding, &notes);
    REQUIRE(shapes.ok());
    CHECK(notes.Has("kept-batch"));
    CHECK_FALSE(binding->fixed_batch);
    CHECK(ToString(*(*shapes)[TensorNamed(graph, "picked")].shape) == (bounds ? "[12]" : "[?]"));
  }
}

TEST_CASE("a batch that was asked for is not given up, and one that fits is re-opened") {
  const Graph graph = GraphFromText(R"(
    agraph (float[1, 4] x, float[3, 4] y) => (float[3, 4] z) {
      z = Add (x, y)
    })");
  Notes notes;
  const BindOptions asked{.batch_dim = "x:0"};
  Result<Binding> binding = Bind(graph, asked, &notes);
  REQUIRE(binding.ok());
  CHECK_FALSE(InferOrKeepBatch(graph, asked, &*binding, &notes).ok());
  const Graph plain = GraphFromText(R"(
    agraph (float[1, 4] x) => (float[1, 4] z) {
      z = Relu (x)
    })");
  Result<Binding> reopened = Bind(plain, {}, &notes);
  const auto shapes = InferOrKeepBatch(plain, {}, &*reopened, &notes);
  REQUIRE(shapes.ok());
  CHECK(ToString(*(*shapes)[TensorNamed(plain, "z")].shape) == "[B, 4]");
}

}  // namespace
}  // namespace vramplan
