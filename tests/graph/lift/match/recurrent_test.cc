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

TEST_CASE("weights that an export folded, or another tool stored, are nn.LSTM's four again, layer by layer") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[5, batch, 3] x) => (float[5, batch, 8] y) <
      float[2, 16, 3] `onnx::LSTM_1`, float[2, 16, 4] `onnx::LSTM_2`, float[2, 32] `onnx::LSTM_3`> {
      h = LSTM <hidden_size = 4, direction = "bidirectional"> (x, `onnx::LSTM_1`, `onnx::LSTM_2`, `onnx::LSTM_3`)
        # name: /rnn/LSTM_1
      t = Transpose <perm = [0, 2, 1, 3]> (h)
        # name: /rnn/Transpose
      shape = Constant <value = int64[3] {0, 0, -1}> ()
      y = Reshape (t, shape)
        # name: /rnn/Reshape
    })");
  std::string parameters;
  for (const ValueId id : layers.parameters) parameters += layers[id].name + ToString(layers[id].shape) + " ";
  CHECK(parameters ==
        "rnn.weight_ih_l1[16, 3] rnn.weight_hh_l1[16, 4] rnn.bias_ih_l1[16] rnn.bias_hh_l1[16] "
        "rnn.weight_ih_l1_reverse[16, 3] rnn.weight_hh_l1_reverse[16, 4] rnn.bias_ih_l1_reverse[16] "
        "rnn.bias_hh_l1_reverse[16] ");
}

}  // namespace
}  // namespace vramplan
