#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("linear: Transpose, MatMul, Add in training exports; folded and renamed in eval exports") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 2] y) <float[2, 8] `fc.weight`, float[2] `fc.bias`> {
      t = Transpose <perm = [1, 0]> (`fc.weight`)
        # name: /fc/Transpose
      m = MatMul (x, t)
        # name: /fc/MatMul
      y = Add (`fc.bias`, m)
        # name: /fc/Add
    })") == Lines{"fc: linear(x, fc.weight, fc.bias) -> [B, 5, 2]"});
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 2] y) <float[8, 2] `onnx::MatMul_7`, float[2] `fc.bias`> {
      m = MatMul (x, `onnx::MatMul_7`)
        # name: /fc/MatMul
      y = Add (`fc.bias`, m)
        # name: /fc/Add
    })");
  CHECK(testing::LinesOf(layers) == Lines{"fc: linear(x, fc.weight, fc.bias) -> [B, 5, 2]"});
  REQUIRE(layers.parameters.size() == 2);
  CHECK(ToString(layers[layers.parameters[0]].shape) == "[2, 8]");  // as nn.Linear keeps it
}

TEST_CASE("linear with a weight that the forward computes: F.linear(x, weight * mask, bias)") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8] x) => (float[batch, 2] y)
        <float[2, 8] `fc.weight`, float[2, 8] `fc.scale`, float[2] `fc.bias`> {
      m = Mul (`fc.weight`, `fc.scale`)
        # name: /fc/Mul
      y = Gemm <transB = 1> (x, m, `fc.bias`)
        # name: /fc/Gemm
    })") == Lines{"fc: mul(fc.weight, fc.scale) -> [2, 8]", "fc: linear(x, m, fc.bias) -> [B, 2]"});
}

TEST_CASE("modules of a dict in a list have one path: their names tell them apart") {
  // for layer in self.layers: x = layer["ffn"](x), whose scopes are /ffn/ffn.0 and /ffn/ffn.0_1
  const auto parameters = [](const std::string& second_bias, const std::string& stored) {
    const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y)
        <float[8, 8] `onnx::MatMul_7`, float[8, 8] `onnx::MatMul_9`, float[8] `layers.0.ffn.0.bias`)" +
                                          stored + R"(> {
      m = MatMul (x, `onnx::MatMul_7`)
        # name: /ffn/ffn.0/MatMul
      h = Add (`layers.0.ffn.0.bias`, m)
        # name: /ffn/ffn.0/Add
      n = MatMul (h, `onnx::MatMul_9`)
        # name: /ffn/ffn.0_1/MatMul
      y = Add (`)" + second_bias + R"(`, n)
        # name: /ffn/ffn.0_1/Add
    })");
    return layers.parameters.size();
  };
  CHECK(parameters("layers.1.ffn.0.bias", ", float[8] `layers.1.ffn.0.bias`") == 4);
  CHECK(parameters("layers.0.ffn.0.bias", "") == 2);  // one module, called twice
}

TEST_CASE("modules whose list is called by its forward have what is left of their paths") {
  // for block in self.d: x = block.forward(x) (monai/networks/nets/hovernet.py 1.6): only the bias is named in full
  const auto parameters = [](const std::string& second_bias, const std::string& stored) {
    const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 8] y)
        <float[8, 8] `onnx::MatMul_7`, float[8, 8] `onnx::MatMul_9`, float[8] `net.d.0.body.fc.bias`)" +
                                          stored + R"(> {
      m = MatMul (x, `onnx::MatMul_7`)
        # name: /net/body/fc/MatMul
      h = Add (`net.d.0.body.fc.bias`, m)
        # name: /net/body/fc/Add
      n = MatMul (h, `onnx::MatMul_9`)
        # name: /net/body/fc_1/MatMul
      y = Add (`)" + second_bias + R"(`, n)
        # name: /net/body/fc_1/Add
    })");
    return layers.parameters.size();
  };
  CHECK(parameters("net.d.1.body.fc.bias", ", float[8] `net.d.1.body.fc.bias`") == 4);
  CHECK(parameters("net.d.0.body.fc.bias", "") == 2);  // one module, called twice
}

TEST_CASE("linear without bias, and with a sum that is not its bias") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 2] y) <float[2, 8] `fc.weight`, float[2] shift> {
      t = Transpose <perm = [1, 0]> (`fc.weight`)
        # name: /fc/Transpose
      m = MatMul (x, t)
        # name: /fc/MatMul
      y = Add (m, shift)
        # name: /Add
    })") == Lines{"fc: linear(x, fc.weight, -) -> [B, 5, 2]", "add(m, shift) -> [B, 5, 2]"});
}

TEST_CASE("behind an operator that nobody knows nothing has a rank") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 5, 8] x) => (float[batch, 5, 2] y) <float[8, 2] `onnx::MatMul_7`, float[2] `fc.bias`> {
      u = Mystery (x)
      m = MatMul (u, `onnx::MatMul_7`)
      y = Add (`fc.bias`, m)
    })")
            .size() == 3);
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 2] y) {
      one = Constant <value = int64[1] {1}> ()
      two = Constant <value = int64[1] {2}> ()
      zero = Constant <value = int64[1] {0}> ()
      u = Mystery (x)
      s = Shape (u)
      n = Gather (s, one)
      half = Div (n, two)
      all = Mul (half, two)
      a = Slice (u, zero, half, one)
      b = Slice (u, half, all, one)
      y = Add (a, b)
    })")
            .size() >= 3);
}

TEST_CASE("one weight in two products is one parameter") {
  const Layers layers = testing::Lifted(R"(
    agraph (int64[batch, 3] ids) => (float[batch, 3, 10] y) <float[10, 4] `emb.weight`> {
      e = Gather (`emb.weight`, ids)
        # name: /emb/Gather
      t = Transpose <perm = [1, 0]> (`emb.weight`)
        # name: /head/Transpose
      y = MatMul (e, t)
        # name: /head/MatMul
    })");
  CHECK(testing::LinesOf(layers) ==
        Lines{"emb: embedding(emb.weight, ids) -> [B, 3, 4]", "head: linear(e, emb.weight, -) -> [B, 3, 10]"});
  CHECK(layers.parameters.size() == 1);
}

TEST_CASE("Gemm: transB is nn.Linear, a named weight without it is addmm") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8] x) => (float[batch, 3] y)
      <float[4, 8] `fc.weight`, float[4] `fc.bias`, float[4, 3] `c_attn.weight`, float[3] `c_attn.bias`> {
      a = Gemm <transB = 1> (x, `fc.weight`, `fc.bias`)
      y = Gemm (a, `c_attn.weight`, `c_attn.bias`)
    })") == Lines{"linear(x, fc.weight, fc.bias) -> [B, 4]", "addmm(c_attn.bias, a, c_attn.weight) -> [B, 3]"});
}

TEST_CASE("products of activations") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 3, 4] a, float[batch, 4, 5] b) => (float[batch, 3, 5] y) {
      y = MatMul (a, b)
    })") == Lines{"matmul(a, b) -> [B, 3, 5]"});
}

TEST_CASE("einsum keeps its equation and all its operands") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 2, 5, 8] q, float[batch, 2, 7, 8] k) => (float[batch, 2, 5, 7] y) {
      y = Einsum <equation = "bhid,bhjd->bhij"> (q, k)
    })") == Lines{"einsum(q, k) -> [B, 2, 5, 7] equation=bhid,bhjd->bhij"});
}

}  // namespace
}  // namespace vramplan
