#include "graph/shapes/kept_batch.h"

#include <doctest/doctest.h>

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
