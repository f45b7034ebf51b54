#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("dropout drops only in training and with a probability") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      half = Constant <value = float {0.5}> ()
      zero = Constant <value = float {0.0}> ()
      yes = Constant <value = bool {1}> ()
      a, m = Dropout (x, half, yes)
      b = Relu (a)
      c, n = Dropout (b, zero, yes)
      d = Dropout (c, half)
      y = Sigmoid (d)
    })") == Lines{"dropout(x) -> [B, 4] p=0.5", "relu(a) -> [B, 4]", "sigmoid(b) -> [B, 4]"});
}

TEST_CASE("stochastic depth: a uniform draw below a number is bernoulli") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      keep = Constant <value = float {0.9}> ()
      i0 = Constant <value = int64 {0}> ()
      ax0 = Constant <value = int64[1] {0}> ()
      one = Constant <value = int64[1] {1}> ()
      s = Shape (x)
      b = Gather (s, i0)
      bu = Unsqueeze (b, ax0)
      size = Concat <axis = 0> (bu, one)
      e = ConstantOfShape (size)
      r = RandomUniformLike <dtype = 1> (e)
      l = Less (r, keep)
      n = Cast <to = 1> (l)
      d = Div (n, keep)
      y = Mul (x, d)
    })")
            .front() == "bernoulli(-, x) -> [B, 1] p=0.9 skipped-in-evaluation=1");
}

}  // namespace
}  // namespace vramplan
