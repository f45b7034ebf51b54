#include <doctest/doctest.h>

#include "graph/lift/any_export/passes.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

// One step, as the TorchScript exporter writes it; `owner`: where the input's table is.
std::string Step(const std::string& owner) {
  return R"(
    agraph (float[batch, 8] x, float[batch, 4] h, float[batch, 4] c) => (float[batch, 4] y, float[batch, 4] next) <
      float[16, 4] `cell.weight_hh`, float[16] `cell.bias_hh`, float[16, 8] `)" +
         owner + "weight_ih`, float[16] `" + owner + R"(bias_ih`> {
      sizes = Constant <value = int64[4] {4, 4, 4, 4}> ()
      a = Gemm <transB = 1> (h, `cell.weight_hh`, `cell.bias_hh`)
        # name: /cell/Gemm
      b = Gemm <transB = 1> (x, `)" +
         owner + "weight_ih`, `" + owner + R"(bias_ih`)
        # name: /cell/Gemm_1
      gates = Add (a, b)
        # name: /cell/Add
      i, f, g, o = Split <axis = 1> (gates, sizes)
        # name: /cell/Split
      si = Sigmoid (i)
        # name: /cell/Sigmoid
      sf = Sigmoid (f)
        # name: /cell/Sigmoid_1
      tg = Tanh (g)
        # name: /cell/Tanh
      so = Sigmoid (o)
        # name: /cell/Sigmoid_2
      kept = Mul (sf, c)
        # name: /cell/Mul
      written = Mul (si, tg)
        # name: /cell/Mul_1
      next = Add (kept, written)
        # name: /cell/Add_1
      t = Tanh (next)
        # name: /cell/Tanh_1
      y = Mul (so, t)
        # name: /cell/Mul_2
    })";
}

TEST_CASE("nn.LSTMCell is one operator with two results; a program's own gates are its own") {
  CHECK(LiftedLines(Step("cell.")) ==
        Lines{"cell: lstm_cell(x, h, c, cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh) -> [B, 4] [B, 4]"});
  CHECK(LiftedLines(Step("cell.my_")).size() > 5);
}

}  // namespace
}  // namespace vramplan
