#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("batch norm: running statistics are buffers, the count of batches is one more") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4, 2, 2] x) => (float[batch, 4, 2, 2] y)
      <float[4] `bn.weight`, float[4] `bn.bias`, float[4] `bn.running_mean`, float[4] `bn.running_var`> {
      y, m, v = BatchNormalization <training_mode = 1> (x, `bn.weight`, `bn.bias`, `bn.running_mean`, `bn.running_var`)
        # name: /bn/BatchNormalization
    })");
  CHECK(testing::LinesOf(layers) ==
        Lines{"bn: batch_norm(x, bn.weight, bn.bias, bn.running_mean, bn.running_var) -> [B, 4, 2, 2] training=1"});
  Lines parameters, buffers;
  for (const ValueId id : layers.parameters) parameters.push_back(layers[id].name);
  for (const ValueId id : layers.buffers) {
    buffers.push_back(layers[id].name + std::string(Name(layers[id].type)) + ToString(layers[id].shape));
  }
  CHECK(parameters == Lines{"bn.weight", "bn.bias"});
  CHECK(buffers == Lines{"bn.running_meanfloat32[4]", "bn.running_varfloat32[4]", "bn.num_batches_trackedint64[]"});
}

TEST_CASE("statistics that the graph gives out, and no pattern makes, are a layer of their own") {
  const Lines lines = LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y, float[batch, 1] m) <float[4] w, float[4] b> {
      y, m = LayerNormalization <axis = -1> (x, w, b)
    })");
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].find("layer_norm(x, w, b) -> [B, 4]") != std::string::npos);
  CHECK(lines[1].find("onnx::LayerNormalization(x, w, b)") != std::string::npos);
}

TEST_CASE("group norm is an instance norm between two reshapes") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8, 3, 3] x) => (float[batch, 8, 3, 3] y) <float[8] `gn.weight`, float[8] `gn.bias`> {
      groups = Constant <value = int64[3] {0, 2, -1}> ()
      ones = Constant <value = float[2] {1.0, 1.0}> ()
      zeros = Constant <value = float[2] {0.0, 0.0}> ()
      axes = Constant <value = int64[2] {1, 2}> ()
      g = Reshape (x, groups)
      n = InstanceNormalization (g, ones, zeros)
      s = Shape (x)
      r = Reshape (n, s)
      w = Unsqueeze (`gn.weight`, axes)
      m = Mul (r, w)
      b = Unsqueeze (`gn.bias`, axes)
      y = Add (m, b)
    })") == Lines{"group_norm(x, gn.weight, gn.bias) -> [B, 8, 3, 3] num_groups=2"});
}

TEST_CASE("instance norm: ones and zeros that the exporter had to write are no parameters") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 2, 3, 3] x) => (float[batch, 2, 3, 3] y) <float[2] `n.weight`, float[2] `n.bias`> {
      ones = Constant <value = float[2] {1.0, 1.0}> ()
      zeros = Constant <value = float[2] {0.0, 0.0}> ()
      a = InstanceNormalization (x, ones, zeros)
      y = InstanceNormalization (a, `n.weight`, `n.bias`)
    })");
  CHECK(testing::LinesOf(layers) ==
        Lines{"instance_norm(x, -, -) -> [B, 2, 3, 3]", "instance_norm(a, n.weight, n.bias) -> [B, 2, 3, 3]"});
  CHECK(layers.parameters.size() == 2);
  CHECK(layers.buffers.empty());
}

TEST_CASE("layer norm as one node and as seven") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y)
      <float[8] `a.weight`, float[8] `a.bias`, float[8] `b.weight`, float[8] `b.bias`> {
      n = LayerNormalization <axis = -1> (x, `a.weight`, `a.bias`)
      two = Constant <value = float {2.0}> ()
      eps = Constant <value = float {0.00001}> ()
      mean = ReduceMean <axes = [-1]> (n)
      sub = Sub (n, mean)
      pow = Pow (sub, two)
      var = ReduceMean <axes = [-1]> (pow)
      add = Add (var, eps)
      sqrt = Sqrt (add)
      div = Div (sub, sqrt)
      mul = Mul (div, `b.weight`)
      y = Add (mul, `b.bias`)
    })",
                    "tf2onnx") == Lines{"layer_norm(x, a.weight, a.bias) -> [B, 5, 8] normalized_axes=1",
                                        "layer_norm(n, b.weight, b.bias) -> [B, 5, 8] normalized_axes=1"});
}

TEST_CASE("a hand-written RMS norm stays as it ran, with rsqrt put back") {
  std::string operators;
  for (const std::string& line : LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y) <float[8] `n.weight`> {
      two = Constant <value = float {2.0}> ()
      eps = Constant <value = float {0.000001}> ()
      one = Constant <value = float {1.0}> ()
      f = Cast <to = 1> (x)
      p = Pow (f, two)
      m = ReduceMean <axes = [-1]> (p)
      a = Add (m, eps)
      s = Sqrt (a)
      r = Div (one, s)
      n = Mul (f, r)
      y = Mul (`n.weight`, n)
    })")) {
    operators += line.substr(0, line.find('(')) + " ";
  }
  CHECK(operators == "float pow mean add rsqrt mul type_as mul ");
}

TEST_CASE("weight normalisation over all axes but the first or the last is one call") {
  const auto lifted = [](const std::string& axes, const std::string& magnitude) {
    return LiftedLines(R"(
    agraph (float[batch, 4, 16] x) => (float[batch, 8, 14] y) <float[8, 4, 3] `c.weight_v`, float)" +
                       magnitude + R"( `c.weight_g`> {
      n = ReduceL2 <axes = )" +
                       axes + R"(, keepdims = 1> (`c.weight_v`)
      d = Div (`c.weight_v`, n)
      w = Mul (d, `c.weight_g`)
      y = Conv <kernel_shape = [3], pads = [0, 0]> (x, w)
    })");
  };
  const std::string conv = "conv1d(x, w, -) -> [B, 8, 14] dilation=[1] groups=1 kernel_size=[3] padding=[0] stride=[1]";
  CHECK(lifted("[1, 2]", "[8, 1, 1]") == Lines{"weight_norm(c.weight_v, c.weight_g) -> [8, 4, 3] bound=1", conv});
  CHECK(lifted("[0, 1]", "[1, 1, 3]") == Lines{"weight_norm(c.weight_v, c.weight_g) -> [8, 4, 3] bound=1", conv});
  CHECK(lifted("[0, 2]", "[1, 4, 1]").size() == 4);  // not fused: norm, division, product, convolution
}

TEST_CASE("group norm without its scopes: ones and zeros tell, the scale may be stored with its axes") {
  // onnxslim's of a dynamo export: names are val_12, sizes a number.
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8, 3, 3] x) => (float[batch, 8, 3, 3] y) <
      float[2] val_1 = {1.0, 1.0}, float[2] val_2 = {0.0, 0.0}, float[8, 1, 1] val_3, float[8, 1, 1] val_4> {
      groups = Constant <value = int64[3] {0, 2, -1}> ()
      g = Reshape (x, groups)
      n = InstanceNormalization (g, val_1, val_2)
      s = Shape (x)
      r = Reshape (n, s)
      m = Mul (r, val_3)
      y = Add (m, val_4)
    })") == Lines{"group_norm(x, weight, bias) -> [B, 8, 3, 3] num_groups=2"});
}

TEST_CASE("Keras' layer norm: moments, and the fused form over a batch norm") {
  // tf2onnx 1.16.1 of keras.layers.LayerNormalization(epsilon=1e-6), TensorFlow 2.15.
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y) <float[8] gamma, float[8] beta> {
      eps = Constant <value = float {0.000001}> ()
      mean = GlobalAveragePool (x)
      d = Sub (x, mean)
      sq = Mul (d, d)
      var = GlobalAveragePool (sq)
      add = Add (var, eps)
      root = Sqrt (add)
      inverse = Reciprocal (root)
      gain = Mul (inverse, gamma)
      moved = Mul (mean, gain)
      shift = Sub (beta, moved)
      scaled = Mul (x, gain)
      y = Add (scaled, shift)
    })",
                    "tf2onnx 1.16.1") == Lines{"layer_norm(x, gamma, beta) -> [B, 5, 8] normalized_axes=1"});
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y) <float[8] gamma, float[8] beta> {
      rows = Constant <value = int64[4] {1, -1, 8, 1}> ()
      back = Constant <value = int64[3] {-1, 5, 8}> ()
      one = Constant <value = float {1.0}> ()
      nil = Constant <value = float {0.0}> ()
      axes = Constant <value = int64[3] {0, 2, 3}> ()
      count = Constant <value = float {8.0}> ()
      r = Reshape (x, rows)
      mean = ReduceMean <axes = [0, 2, 3], keepdims = 1> (r)
      d = Sub (r, mean)
      sums = ReduceSumSquare <axes = [0, 2, 3], keepdims = 0> (d)
      var = Div (sums, count)
      flat = Squeeze (mean, axes)
      size = Shape (flat)
      ones = Expand (one, size)
      zeros = Expand (nil, size)
      n = BatchNormalization (r, ones, zeros, flat, var)
      b = Reshape (n, back)
      m = Mul (b, gamma)
      y = Add (m, beta)
    })",
                    "tf2onnx 1.16.1") == Lines{"layer_norm(x, gamma, beta) -> [B, 5, 8] normalized_axes=1"});
}

}  // namespace
}  // namespace vramplan
