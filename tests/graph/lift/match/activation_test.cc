#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("gelu: PyTorch's exporter multiplies by a half last; other orders were written by hand") {
  const char* const text = R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      root2 = Constant <value = float {1.4142135}> ()
      one = Constant <value = float {1.0}> ()
      half = Constant <value = float {0.5}> ()
      d = Div (x, root2)
      e = Erf (d)
      a = Add (e, one)
      m = Mul (x, a)
      y = Mul (m, half)
    })";
  CHECK(LiftedLines(text) == Lines{"gelu(x) -> [B, 4] approximate=none"});
  const char* const by_hand = R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      root2 = Constant <value = float {1.4142135}> ()
      one = Constant <value = float {1.0}> ()
      half = Constant <value = float {0.5}> ()
      h = Mul (x, half)
      d = Div (x, root2)
      e = Erf (d)
      a = Add (e, one)
      y = Mul (h, a)
    })";
  CHECK(LiftedLines(by_hand) == Lines{"mul(x, -) -> [B, 4] scalar=0.5", "div(x, -) -> [B, 4] scalar=1.41421",
                                      "erf(d) -> [B, 4]", "add(e, -) -> [B, 4] scalar=1", "mul(h, a) -> [B, 4]"});
  CHECK(LiftedLines(by_hand, "tf2onnx 1.16") == Lines{"gelu(x) -> [B, 4] approximate=none"});
}

TEST_CASE("gelu is not lifted when somebody else reads its inside") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y, float[batch, 4] a) {
      root2 = Constant <value = float {1.4142135}> ()
      one = Constant <value = float {1.0}> ()
      half = Constant <value = float {0.5}> ()
      d = Div (x, root2)
      e = Erf (d)
      a = Add (e, one)
      m = Mul (x, a)
      y = Mul (m, half)
    })") == Lines{"div(x, -) -> [B, 4] scalar=1.41421", "erf(d) -> [B, 4]", "add(e, -) -> [B, 4] scalar=1",
                  "mul(x, a) -> [B, 4]", "mul(m, -) -> [B, 4] scalar=0.5"});
}

TEST_CASE("gelu by tanh: the exporter cubes by products, Hugging Face's NewGELU by pow") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      kappa = Constant <value = float {0.044715}> ()
      beta = Constant <value = float {0.7978845}> ()
      one = Constant <value = float {1.0}> ()
      half = Constant <value = float {0.5}> ()
      x2 = Mul (x, x)
      x3 = Mul (x, x2)
      k = Mul (kappa, x3)
      s = Add (x, k)
      b = Mul (beta, s)
      t = Tanh (b)
      o = Add (one, t)
      m = Mul (x, o)
      y = Mul (half, m)
    })") == Lines{"gelu(x) -> [B, 4] approximate=tanh"});
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      three = Constant <value = float {3.0}> ()
      kappa = Constant <value = float {0.044715}> ()
      p = Pow (x, three)
      y = Mul (p, kappa)
    })") == Lines{"pow(x, -) -> [B, 4] scalar=3", "mul(p, -) -> [B, 4] scalar=0.044715"});
}

TEST_CASE("silu, hardswish and mish gate themselves, in one module") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      s = Sigmoid (x)
        # name: /act/Sigmoid
      a = Mul (x, s)
        # name: /act/Mul
      h = HardSigmoid <alpha = 0.1666667> (a)
      b = Mul (a, h)
      p = Softplus (b)
      t = Tanh (p)
      c = Mul (b, t)
      y = HardSwish (c)
    })") == Lines{"act: silu(x) -> [B, 4]", "act: hardswish(a) -> [B, 4]", "act: mish(b) -> [B, 4]",
                  "act: hardswish(c) -> [B, 4]"});
  // A gate that is a module of its own, multiplied outside
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      s = Sigmoid (x)
        # name: /gate/Sigmoid
      y = Mul (x, s)
        # name: /Mul
    })") == Lines{"gate: sigmoid(x) -> [B, 4]", "mul(x, s) -> [B, 4]"});
}

TEST_CASE("hardswish and hardsigmoid are spelled out in old opsets; in new ones somebody wrote them out") {
  const std::string old_opset = "<ir_version: 8, opset_import: [\"\" : 13], producer_name: \"pytorch\">";
  const std::string head = R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      three = Constant <value = float {3.0}> ()
      zero = Constant <value = float {0.0}> ()
      six = Constant <value = float {6.0}> ()
      a = Add (x, three)
      c = Clip (a, zero, six)
)";
  CHECK(LiftedLines(old_opset + head + "d = Div (c, six)\n y = Mul (x, d)\n }") == Lines{"hardswish(x) -> [B, 4]"});
  CHECK(LiftedLines(old_opset + head + "m = Mul (x, c)\n y = Div (m, six)\n }") == Lines{"hardswish(x) -> [B, 4]"});
  CHECK(LiftedLines(old_opset + head + "y = Div (c, six)\n }") == Lines{"hardsigmoid(x) -> [B, 4]"});
  CHECK(LiftedLines(head + "d = Div (c, six)\n y = Mul (x, d)\n }").size() == 4);
  CHECK(LiftedLines(head + "m = Mul (x, c)\n y = Div (m, six)\n }").size() == 4);
  CHECK(LiftedLines(head + "y = Div (c, six)\n }").size() == 3);
}

TEST_CASE("single activations and their attributes") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 2, 2] x) => (float[batch, 4, 2, 2] y) <float[4] `act.weight`> {
      zero = Constant <value = float {0.0}> ()
      six = Constant <value = float {6.0}> ()
      five = Constant <value = float {5.0}> ()
      axes = Constant <value = int64[2] {1, 2}> ()
      a = Clip (x, zero, six)
      b = Clip (a, zero, five)
      c = LeakyRelu <alpha = 0.1> (b)
      w = Unsqueeze (`act.weight`, axes)
      d = PRelu (c, w)
      e = Elu (d)
      y = Softplus (e)
    })") == Lines{"hardtanh(x) -> [B, 4, 2, 2]", "clamp(a) -> [B, 4, 2, 2] max=5 min=0",
                  "leaky_relu(b) -> [B, 4, 2, 2] negative_slope=0.1", "prelu(c, act.weight) -> [B, 4, 2, 2]",
                  "elu(d) -> [B, 4, 2, 2]", "softplus(e) -> [B, 4, 2, 2]"});
}

TEST_CASE("shrink: without a bias hard, with its lambd soft, with another bias nobody's") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      a = Shrink (x)
      b = Shrink <bias = 0.3, lambd = 0.3> (a)
      c = Shrink <bias = 0.5> (b)
      y = Shrink <bias = 0.1, lambd = 0.3> (c)
    })") == Lines{"hardshrink(x) -> [B, 4]", "softshrink(a) -> [B, 4]", "softshrink(b) -> [B, 4]",
                  "onnx::Shrink(c) -> [B, 4] bias=0.1 lambd=0.3"});
}

TEST_CASE("gelu whose half onnxsim moved into the weight behind it; bounds of a clip whatever their names are") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 8] x) => (float[batch, 8] y) <float min_val_cast = {0.0}, float max_val_cast = {6.0}> {
      root = Constant <value = float {1.4142135}> ()
      one = Constant <value = float {1.0}> ()
      d = Div (x, root)
      e = Erf (d)
      a = Add (e, one)
      g = Mul (x, a)
      y = Clip (g, min_val_cast, max_val_cast)
    })") == Lines{"gelu(x) -> [B, 8] approximate=none", "hardtanh(g) -> [B, 8]"});
}

TEST_CASE("numbers of tf2onnx have names like paths and axes of one") {
  const std::string file = R"(
    agraph (float[batch, 8, 4, 4] x) => (float[batch, 8, 4, 4] y) <
      float[1, 1, 1, 1] const_fold_opt__7995 = {3.0}, float zero = {0.0}, float six = {6.0}, float sixth = {0.1666667}> {
      a = Add (x, const_fold_opt__7995)
      c = Clip (a, zero, six)
      m = Mul (c, sixth)
      y = Mul (x, m)
    })";
  CHECK(LiftedLines(file, "tf2onnx 1.16.1") == Lines{"hardswish(x) -> [B, 8, 4, 4]"});
  CHECK(LiftedLines(file).size() == 4);  // in PyTorch's file they are learned
}

TEST_CASE("hardswish that ONNX Runtime wrote as its body, without a scope") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      a = Relu (x)
        # name: /features/Relu
      `_inlfunc_HardSwish_HS_X` = HardSigmoid <alpha = 0.1666667> (a)
        # name: HardSigmoid_1
      `/act/HardSwish_output_0` = Mul (a, `_inlfunc_HardSwish_HS_X`)
        # name: Mul_2
      y = Relu (`/act/HardSwish_output_0`)
    })")[1] == "act: hardswish(a) -> [B, 4]");
}

}  // namespace
}  // namespace vramplan
