#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("an LSTM has the stored tensors that are behind its reordered weights") {
  CHECK(LiftedLines(R"(
    agraph (float[7, batch, 3] x) => (float[7, 1, batch, 2] y)
      <float[8, 3] `rnn.weight_ih_l0`, float[8, 2] `rnn.weight_hh_l0`> {
      ax0 = Constant <value = int64[1] {0}> ()
      two = Constant <value = int64[1] {2}> ()
      eight = Constant <value = int64[1] {8}> ()
      i = Slice (`rnn.weight_ih_l0`, ax0, two, ax0)
      r = Slice (`rnn.weight_ih_l0`, two, eight, ax0)
      c = Concat <axis = 0> (i, r)
      w = Unsqueeze (c, ax0)
      u = Unsqueeze (`rnn.weight_hh_l0`, ax0)
      y = LSTM <hidden_size = 2> (x, w, u)
    })") == Lines{"lstm(x, -, -, rnn.weight_ih_l0, rnn.weight_hh_l0) -> [7, 1, B, 2] [1, B, 2] [1, B, 2] "
                  "batch_first=0 bidirectional=0 hidden_size=2 num_layers=1"});
}

}  // namespace
}  // namespace vramplan
