#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("a number beside a tensor is an attribute; on the left it turns the operator around") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (bool[batch, 4] y) {
      two = Constant <value = float {2.0}> ()
      a = Sub (two, x)
      b = Div (two, a)
      c = Div (b, two)
      d = Max (c, x)
      y = Less (two, d)
    })") == Lines{"rsub(x, -) -> [B, 4] scalar=2", "rdiv(a, -) -> [B, 4] scalar=2", "div(b, -) -> [B, 4] scalar=2",
                  "maximum(c, x) -> [B, 4]", "gt(d, -) -> [B, 4] scalar=2"});
}

TEST_CASE("a number that was computed from sizes is a number") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 16] x) => (float[batch, 16] y) {
      i1 = Constant <value = int64 {1}> ()
      s = Shape (x)
      n = Gather (s, i1)
      f = Cast <to = 1> (n)
      r = Sqrt (f)
      y = Div (x, r)
    })") == Lines{"div(x, -) -> [B, 16] scalar=4"});
}

TEST_CASE("a parameter of one element is no number") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float[1] `head.scale` = {1.0}> {
      y = Mul (x, `head.scale`)
    })") == Lines{"mul(x, head.scale) -> [B, 4]"});
}

TEST_CASE("where, masked_fill, ne, masks") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x, bool[batch, 4] m) => (float[batch, 4] y) {
      zero = Constant <value = float {0.0}> ()
      e = Equal (x, zero)
      n = Not (e)
      a = And (n, m)
      b = Where (a, zero, x)
      y = Where (m, b, x)
    })") == Lines{"ne(x, -) -> [B, 4] scalar=0", "bitwise_and(n, m) -> [B, 4]", "masked_fill(x, a) -> [B, 4] scalar=0",
                  "where(m, b, x) -> [B, 4]"});
}

TEST_CASE("a scale of channels whose view was folded is a parameter of one axis and its reshape") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[1, 4, 1, 1] `onnx::Mul_12`> {
      y = Mul (x, `onnx::Mul_12`)
        # name: /stage/Mul
    })");
  CHECK(testing::LinesOf(layers) ==
        Lines{"stage: reshape(stage.gamma) -> [1, 4, 1, 1]", "stage: mul(x, /stage/Mul.scale) -> [B, 4, 8, 8]"});
  REQUIRE(layers.parameters.size() == 1);
  CHECK(ToString(layers[layers.parameters[0]].shape) == "[4]");
}

}  // namespace
}  // namespace vramplan
