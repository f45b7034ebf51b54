#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

// A product of matrices between two reshapes; `name` is that of the last.
std::string Between(const std::string& product, const std::string& name) {
  return R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 4] y) <float[8, 4] kernel, float[4, 8] turned, float[4] bias> {
      rows = Constant <value = int64[2] {-1, 8}> ()
      back = Constant <value = int64[3] {-1, 3, 4}> ()
      flat = Reshape (x, rows)
)" + product +
         "\n        # name: " + name + "\n}";
}

TEST_CASE("a product between reshapes is one linear: onnxsim's Gemm, tf2onnx's MatMul and its bias behind") {
  CHECK(LiftedLines(Between("h = Gemm (flat, kernel, bias)\n y = Reshape (h, back)", "Reshape_4")) ==
        Lines{"linear(x, kernel, bias) -> [B, 3, 4]"});
  const std::string keras = "h = MatMul (flat, kernel)\n r = Reshape (h, back)\n y = Add (r, bias)";
  CHECK(LiftedLines(Between(keras, "model/dense/BiasAdd"), "tf2onnx 1.16.1") ==
        Lines{"model.dense: linear(x, kernel, bias) -> [B, 3, 4]"});
  CHECK(LiftedLines(Between("h = Gemm <transB = 1> (flat, turned)\n y = Reshape (h, back)", "einsum"), "tf2onnx") ==
        Lines{"linear(x, turned, -) -> [B, 3, 4]"});
}

TEST_CASE("reshapes that PyTorch code wrote around a product stay") {
  const Lines lines = LiftedLines(Between("h = Gemm (flat, kernel, bias)\n y = Reshape (h, back)", "/attn/Reshape_1"));
  CHECK(lines.size() == 3);
}

TEST_CASE("a reshape that mixes rows is none") {
  const Lines lines = LiftedLines(R"(
    agraph (float[batch, 4, 8] x) => (float[batch, 2, 8] y) <float[8, 4] kernel> {
      rows = Constant <value = int64[2] {-1, 8}> ()
      back = Constant <value = int64[3] {-1, 2, 8}> ()
      flat = Reshape (x, rows)
      h = MatMul (flat, kernel)
      y = Reshape (h, back)
    })",
                                  "tf2onnx");
  CHECK(lines.size() == 3);
}

}  // namespace
}  // namespace vramplan
