#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

// A model of one operator of com.microsoft on x [batch, 3, 8]; `stored` declares what it reads.
Lines Fused(const std::string& stored, const std::string& nodes) {
  return LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1], producer_name: "pytorch">
    agraph (float[batch, 3, 8] x, float[batch, 3, 8] skip) => (float[batch, 3, 8] y) )" +
                     stored + " {\n" + nodes + "\n}");
}

TEST_CASE("fused operators of ONNX Runtime are their parts") {
  CHECK(Fused("<float[8] b>", "y = com.microsoft.BiasGelu (x, b)") ==
        Lines{"add(x, b) -> [B, 3, 8]", "gelu(BiasGelu_0.bias) -> [B, 3, 8] approximate=none"});
  CHECK(Fused("<float[8, 8] `onnx::MatMul_1`, float[8] b>",
              "h = MatMul (x, `onnx::MatMul_1`)\n y = com.microsoft.FastGelu (h, b)") ==
        Lines{"linear(x, weight, b) -> [B, 3, 8]", "mul(FastGelu_1.bias, -) -> [B, 3, 8] scalar=0.5",
              "pow(FastGelu_1.bias, -) -> [B, 3, 8] scalar=3", "mul(FastGelu_1.pow, -) -> [B, 3, 8] scalar=0.044715",
              "add(FastGelu_1.bias, FastGelu_1.mul) -> [B, 3, 8]",
              "mul(FastGelu_1.add, -) -> [B, 3, 8] scalar=0.797885", "tanh(FastGelu_1.mul) -> [B, 3, 8]",
              "add(FastGelu_1.tanh, -) -> [B, 3, 8] scalar=1", "mul(FastGelu_1.mul, FastGelu_1.add) -> [B, 3, 8]"});
  CHECK(Fused("", "y = com.microsoft.QuickGelu <alpha = 1.0> (x)") == Lines{"silu(x) -> [B, 3, 8]"});
  CHECK(Fused("", "y = com.microsoft.QuickGelu <alpha = 1.702> (x)") ==
        Lines{"mul(x, -) -> [B, 3, 8] scalar=1.702", "sigmoid(QuickGelu_0.mul) -> [B, 3, 8]",
              "mul(x, QuickGelu_0.sigmoid) -> [B, 3, 8]"});
  CHECK(Fused("<float[8] g, float[8] b>", "y = com.microsoft.SkipLayerNormalization (x, skip, g, b)") ==
        Lines{"add(x, skip) -> [B, 3, 8]",
              "layer_norm(SkipLayerNormalization_0.sum, g, b) -> [B, 3, 8] normalized_axes=1"});
  CHECK(Fused("<float[8] g>", "y = com.microsoft.SkipSimplifiedLayerNormalization (x, skip, g)") ==
        Lines{"add(x, skip) -> [B, 3, 8]", "float(SkipSimplifiedLayerNormalization_0.sum) -> [B, 3, 8]",
              "pow(SkipSimplifiedLayerNormalization_0_2.float, -) -> [B, 3, 8] scalar=2",
              "mean(SkipSimplifiedLayerNormalization_0.pow) -> [B, 3, 1] dim=[-1] keepdim=1",
              "add(SkipSimplifiedLayerNormalization_0.mean, -) -> [B, 3, 1] scalar=1e-05",
              "rsqrt(SkipSimplifiedLayerNormalization_0.add) -> [B, 3, 1]",
              "mul(SkipSimplifiedLayerNormalization_0_2.float, SkipSimplifiedLayerNormalization_0.rsqrt) -> [B, 3, 8]",
              "type_as(SkipSimplifiedLayerNormalization_0.mul, SkipSimplifiedLayerNormalization_0.sum) -> [B, 3, 8]",
              "mul(g, SkipSimplifiedLayerNormalization_0_6.type_as) -> [B, 3, 8]"});
  CHECK(Fused("<float[8, 8] `onnx::MatMul_1`, float[8] c, float[8] g, float[8] b>",
              "h = MatMul (x, `onnx::MatMul_1`)\n y = com.microsoft.SkipLayerNormalization (h, skip, g, b, c)") ==
        Lines{"linear(x, weight, c) -> [B, 3, 8]", "add(SkipLayerNormalization_1.bias, skip) -> [B, 3, 8]",
              "layer_norm(SkipLayerNormalization_1.sum, g, b) -> [B, 3, 8] normalized_axes=1"});
  CHECK(Fused("", "s = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (x, skip)\n y = MatMul (s, x)") ==
        Lines{"transpose(skip) -> [B, 8, 3] dim0=1 dim1=2", "matmul(x, FusedMatMul_0.transpose) -> [B, 3, 3]",
              "mul(FusedMatMul_0.matmul, -) -> [B, 3, 3] scalar=0.5", "matmul(s, x) -> [B, 3, 8]"});
}

TEST_CASE("the number of a gelu's last product says how it was written") {
  const auto line = [](const char* result) {
    return Fused("", std::string("`") + result + "` = com.microsoft.FastGelu (x)\n y = Relu (`" + result + "`)")[0];
  };
  CHECK(line("/act/Mul_1_output_0") == "act: gelu(x) -> [B, 3, 8] approximate=none");
  CHECK(line("/act/Mul_3_output_0") == "act: mul(x, -) -> [B, 3, 8] scalar=0.5");
  CHECK(line("/act/Mul_5_output_0") == "act: gelu(x) -> [B, 3, 8] approximate=tanh");
  CHECK(Fused("", "y = com.microsoft.FastGelu (x)\n  # name: Gelu_Approximation_0") ==
        Lines{"gelu(x) -> [B, 3, 8] approximate=none"});
}

TEST_CASE("attention that ONNX Runtime fused is no layer of PyTorch's, which is said") {
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <float[8, 24] w, float[24] b> {
      y = com.microsoft.Attention <num_heads = 2> (x, w, b)
    })",
                                        &notes);
  CHECK(testing::LinesOf(layers)[0].starts_with("onnx::Attention(x, w, b) -> [B, 3, 8]"));
  CHECK(notes.Has("fused-operator"));
}

TEST_CASE("a product that took a transpose in is a linear behind it") {
  CHECK(
      Fused("<float[3, 8] `onnx::MatMul_1`, float[8] b>",
            "h = com.microsoft.FusedMatMul <transA = 1> (x, `onnx::MatMul_1`)\n s = Add (b, h)\n y = MatMul (x, s)") ==
      Lines{"transpose(x) -> [B, 8, 3] dim0=1 dim1=2", "linear(FusedMatMul_0.transpose, weight, b) -> [B, 8, 8]",
            "matmul(x, s) -> [B, 3, 8]"});
}

TEST_CASE("convolutions that took a product or a sum in give it back") {
  const auto lines = [](const std::string& conv) {
    return LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1, "com.microsoft.nchwc" : 1]>
    agraph (float[batch, 4, 8, 8] x, float[batch, 4, 8, 8] z) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] w, float[4, 4, 1, 1] `ConvMulFusion_W_fc.weight`, float[4] b> {
)" + conv + "\n}");
  };
  const std::string of = " -> [B, 4, 8, 8] dilation=[1,1] groups=1 kernel_size=[1,1] padding=[0,0] stride=[1,1]";
  CHECK(lines("y = Conv (x, `ConvMulFusion_W_fc.weight`, b)") ==
        Lines{"conv2d(x, ConvMulFusion_W_fc.weight, b)" + of, "reshape(gamma) -> [1, 4, 1, 1]",
              "mul(Conv_0.conv, Conv_0.reshape) -> [B, 4, 8, 8]"});
  CHECK(lines("y = com.microsoft.FusedConv <activation = \"Relu\"> (x, w, b, z)") ==
        Lines{"conv2d(x, w, b)" + of, "add(FusedConv_0.conv, z) -> [B, 4, 8, 8]",
              "relu(FusedConv_0.add) -> [B, 4, 8, 8]"});
  CHECK(lines("h = com.microsoft.nchwc.Conv <activation = \"Relu\"> (x, w, b)\n"
              "y = com.microsoft.nchwc.ReorderOutput <channels = 4> (h)") ==
        Lines{"conv2d(x, w, b)" + of, "relu(Conv_0.conv) -> [B, 4, 8, 8]", "reshape(h) -> [B, 4, 8, 8]"});
}

TEST_CASE("a fused convolution is a convolution and its activation, and may have had a batch norm") {
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4, 4, 1, 1] w, float[4] b> {
      y = com.microsoft.FusedConv <activation = "Relu"> (x, w, b)
    })",
                                        &notes);
  CHECK(testing::LinesOf(layers) ==
        Lines{"conv2d(x, w, b) -> [B, 4, 8, 8] dilation=[1,1] groups=1 kernel_size=[1,1] padding=[0,0] stride=[1,1]",
              "relu(FusedConv_0.conv) -> [B, 4, 8, 8]"});
  CHECK(layers.parameters.size() == 2);
  CHECK(!notes.Has("restored-batch-norm"));
}

TEST_CASE("a fused convolution of made-up names had a batch norm") {
  Notes notes;
  testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] `onnx::Conv_1`, float[4] `onnx::Conv_2`> {
      y = com.microsoft.FusedConv <activation = "Relu"> (x, `onnx::Conv_1`, `onnx::Conv_2`)
    })",
                  &notes);
  CHECK(notes.Has("restored-batch-norm"));
}

}  // namespace
}  // namespace vramplan
