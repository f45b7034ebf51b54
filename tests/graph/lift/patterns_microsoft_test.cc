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
        Lines{"linear(x, weight, b) -> [B, 3, 8]", "gelu(FastGelu_1.bias) -> [B, 3, 8] approximate=tanh"});
  CHECK(Fused("", "y = com.microsoft.QuickGelu <alpha = 1.0> (x)") == Lines{"silu(x) -> [B, 3, 8]"});
  CHECK(Fused("", "y = com.microsoft.QuickGelu <alpha = 1.702> (x)") ==
        Lines{"mul(x, -) -> [B, 3, 8] scalar=1.702", "sigmoid(QuickGelu_0.scaled) -> [B, 3, 8]",
              "mul(x, QuickGelu_0.gate) -> [B, 3, 8]"});
  CHECK(Fused("<float[8] g, float[8] b>", "y = com.microsoft.SkipLayerNormalization (x, skip, g, b)") ==
        Lines{"add(x, skip) -> [B, 3, 8]",
              "layer_norm(SkipLayerNormalization_0.sum, g, b) -> [B, 3, 8] normalized_axes=1"});
  CHECK(Fused("<float[8] g>", "y = com.microsoft.SkipSimplifiedLayerNormalization (x, skip, g)") ==
        Lines{"add(x, skip) -> [B, 3, 8]", "rms_norm(SkipSimplifiedLayerNormalization_0.sum, g) -> [B, 3, 8]"});
  CHECK(Fused("", "s = com.microsoft.FusedMatMul <transB = 1, alpha = 0.5> (x, skip)\n y = MatMul (s, x)") ==
        Lines{"transpose(skip) -> [B, 8, 3] dim0=1 dim1=2", "matmul(x, FusedMatMul_0.b) -> [B, 3, 3]",
              "mul(FusedMatMul_0.product, -) -> [B, 3, 3] scalar=0.5", "matmul(s, x) -> [B, 3, 8]"});
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
  CHECK(!notes.Has("folded-batch-norm"));
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
  CHECK(notes.Has("folded-batch-norm"));
}

Lines OperatorsOf(const Lines& lines) {
  Lines operators;
  for (const std::string& line : lines) operators.push_back(line.substr(0, line.find('(')));
  return operators;
}

TEST_CASE("ONNX Runtime's attention is the products and the softmax that ran") {
  const Lines written = {"reshape", "transpose", "reshape", "transpose", "reshape",   "transpose", "transpose",
                         "matmul",  "mul",       "softmax", "matmul",    "transpose", "reshape"};
  Lines packed = {"linear", "slice", "slice", "slice"};
  packed.insert(packed.end(), written.begin(), written.end());
  const Lines lines = Fused("<float[8, 24] w, float[24] b>", "y = com.microsoft.Attention <num_heads = 2> (x, w, b)");
  CHECK(OperatorsOf(lines) == packed);
  CHECK(lines[0] == "linear(x, w, b) -> [B, 3, 24]");
  CHECK(lines[12] == "mul(Attention_0.matmul, -) -> [B, 2, 3, 3] scalar=0.5");
  CHECK(OperatorsOf(Fused("", "y = com.microsoft.MultiHeadAttention <num_heads = 2> (x, skip, skip)")) == written);
}

TEST_CASE("ONNX Runtime's embeddings are three tables, two sums and a norm") {
  CHECK(LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (int32[batch, 5] ids, int32[batch, 5] types) => (float[batch, 5, 8] y) <
      float[100, 8] words, float[16, 8] places, float[2, 8] kinds, float[8] g, float[8] b> {
      y = com.microsoft.EmbedLayerNormalization (ids, types, words, places, kinds, g, b)
    })") == Lines{"embedding(words, ids) -> [B, 5, 8]", "embedding(kinds, types) -> [B, 5, 8]",
                  "add(EmbedLayerNormalization_0.embedding, EmbedLayerNormalization_0.embedding) -> [B, 5, 8]",
                  "arange() -> [5]", "embedding(places, EmbedLayerNormalization_0.positions) -> [5, 8]",
                  "add(EmbedLayerNormalization_0.add, EmbedLayerNormalization_0.embedding) -> [B, 5, 8]",
                  "layer_norm(EmbedLayerNormalization_0.add, g, b) -> [B, 5, 8] normalized_axes=1"});
}

}  // namespace
}  // namespace vramplan
