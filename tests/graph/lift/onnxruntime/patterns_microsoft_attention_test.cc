#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

// A model of one operator of com.microsoft on x [batch, 3, 8]; `stored` declares what it reads.
Layers Fused(const std::string& stored, const std::string& nodes, const std::string& producer = "pytorch 2.10.0") {
  Notes notes;
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 3, 8] x, float[batch, 3, 8] skip, int64[batch, 3] mask) => (float[batch, 3, 8] y) )" +
                             stored + " {\n" + nodes + "\n}",
                         &notes, producer);
}

Lines OperatorsOf(const Layers& layers) {
  Lines operators;
  for (const Layer& layer : layers.layers) operators.push_back(layer.op);
  return operators;
}

Lines operator+(Lines a, const Lines& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::string ParametersOf(const Layers& layers) {
  std::string text;
  for (const ValueId id : layers.parameters) text += layers[id].name + ToString(layers[id].shape) + " ";
  return text;
}

const Lines kHeads = {"reshape", "transpose", "reshape", "transpose", "reshape", "transpose"};
const Lines kWritten = kHeads + Lines{"transpose", "matmul", "mul", "softmax", "matmul", "transpose", "reshape"};
const Lines kOneCall = kHeads + Lines{"scaled_dot_product_attention", "transpose", "reshape"};
const Lines kMask = {"unsqueeze", "unsqueeze", "to", "rsub", "mul"};
const Lines kLinears = {"linear", "linear", "linear"};

constexpr const char* kPacked =
    "<float[8, 24] Attention_0_qkv_weight, float[24] Attention_0_qkv_bias, float[8] `a.weight`>";
constexpr const char* kAttention =
    "y = com.microsoft.Attention <num_heads = 2> (x, Attention_0_qkv_weight, Attention_0_qkv_bias)";

TEST_CASE("ONNX Runtime's attention is the products and the softmax that ran") {
  const Layers layers = Fused("<float[8, 24] `c_attn.weight`, float[24] `c_attn.bias`>",
                              "y = com.microsoft.Attention <num_heads = 2> (x, `c_attn.weight`, `c_attn.bias`)");
  CHECK(OperatorsOf(layers) == Lines{"linear", "slice", "slice", "slice"} + kWritten);
  const Lines lines = testing::LinesOf(layers);
  CHECK(lines[0] == "linear(x, c_attn.weight, c_attn.bias) -> [B, 3, 24]");
  CHECK(lines[12] == "mul(Attention_0.matmul, -) -> [B, 2, 3, 3] scalar=0.5");
  CHECK(OperatorsOf(Fused("", "y = com.microsoft.MultiHeadAttention <num_heads = 2> (x, skip, skip)")) == kWritten);
}

TEST_CASE("weights that the optimizer packed are three modules' again, the same in every call") {
  const Layers layers = Fused(kPacked, kAttention);
  CHECK(OperatorsOf(layers) == kLinears + kWritten);
  CHECK(ParametersOf(layers) ==
        "a.weight[8] query.weight[8, 8] query.bias[8] key.weight[8, 8] key.bias[8] "
        "value.weight[8, 8] value.bias[8] ");
  const Layers twice = Fused("<float[8, 24] Attention_0_qkv_weight, float[8, 24] Attention_1_qkv_weight>", R"(
      `/attn/Reshape_3_output_0` = com.microsoft.Attention <num_heads = 2> (x, Attention_0_qkv_weight)
        # name: Attention_0
      `/attn_1/Reshape_3_output_0` = com.microsoft.Attention <num_heads = 2> (`/attn/Reshape_3_output_0`,
                                                                             Attention_1_qkv_weight)
        # name: Attention_1
      y = Relu (`/attn_1/Reshape_3_output_0`))");
  CHECK(ParametersOf(twice) == "attn.query.weight[8, 8] attn.key.weight[8, 8] attn.value.weight[8, 8] ");
}

TEST_CASE("a bias beside packed heads is each linear's own") {
  const Layers layers = Fused("<float[8, 8] `onnx::MatMul_1`, float[24] MultiHeadAttention_0_qkv_bias>", R"(
      q = MatMul (x, `onnx::MatMul_1`)
        # name: /attn/q_proj/MatMul
      y = com.microsoft.MultiHeadAttention <num_heads = 2> (q, skip, skip, MultiHeadAttention_0_qkv_bias)
        # name: /attn/MultiHeadAttention)");
  CHECK(testing::LinesOf(layers)[0] == "attn.q_proj: linear(x, attn.q_proj.weight, attn.q_proj.bias) -> [B, 3, 8]");
  CHECK(layers.parameters.size() == 4);  // the two biases of what was no product
}

TEST_CASE("only an optimizer that knows the export of torch's function has fused it") {
  constexpr const char* kMasked =
      "m = Cast <to = 6> (mask)\n y = com.microsoft.Attention <num_heads = 2, mask_filter_value = -1e9> (x, "
      "Attention_0_qkv_weight, Attention_0_qkv_bias, m)";
  const Lines expanded = {"unsqueeze", "unsqueeze", "expand", "to", "rsub", "mul"};
  const Lines masked = kMask + kLinears + kHeads +
                       Lines{"transpose", "matmul", "mul", "add", "softmax", "matmul", "transpose", "reshape"};
  CHECK(OperatorsOf(Fused(kPacked, kMasked, "onnxruntime.transformers 1.21.0")) == expanded + kLinears + kOneCall);
  CHECK(OperatorsOf(Fused(kPacked, kMasked, "onnxruntime.transformers 1.20.1")) == masked);
  CHECK(OperatorsOf(Fused(kPacked, kMasked, "pytorch 2.10.0")) == masked);
  CHECK(OperatorsOf(Fused(kPacked, kAttention, "onnxruntime.transformers 1.21.0")) == kLinears + kOneCall);
  CHECK(OperatorsOf(Fused(kPacked, kAttention, "onnxruntime.transformers 1.20.1")) == kLinears + kWritten);
  // A mask without its lowest number was written out.
  constexpr const char* kUnnumbered =
      "m = Cast <to = 6> (mask)\n y = com.microsoft.Attention <num_heads = 2> (x, Attention_0_qkv_weight, "
      "Attention_0_qkv_bias, m)";
  CHECK(OperatorsOf(Fused(kPacked, kUnnumbered, "onnxruntime.transformers 1.31.1")) == masked);
}

TEST_CASE("attention with a past puts it in front, and hands both on") {
  const Layers layers = Fused("<float[8, 24] Attention_0_qkv_weight, float[2, 1, 2, 5, 4] past>", R"(
      y, present = com.microsoft.Attention <num_heads = 2, unidirectional = 1> (x, Attention_0_qkv_weight, , , past))",
                              "onnxruntime.transformers 1.31.1");
  const Lines lines = testing::LinesOf(layers);
  CHECK(OperatorsOf(layers) == kLinears + Lines{"select", "select", "reshape", "transpose", "reshape", "transpose",
                                                "cat", "reshape", "transpose", "cat", "stack",
                                                "scaled_dot_product_attention", "transpose", "reshape"});
  CHECK(lines[9] == "cat(Attention_0.select, Attention_0.transpose) -> [B, 2, 8, 4] dim=2");
}

TEST_CASE("a bias of positions is a table's rows, and the mask is added to it once") {
  const Lines operators = OperatorsOf(Fused("<float[8, 24] Attention_0_qkv_weight, float[32, 2] t, int64 n = {3}>", R"(
      b = com.microsoft.RelativePositionBias <max_distance = 128> (t, n, n)
      h = com.microsoft.Attention <num_heads = 2, scale = 1.0> (x, Attention_0_qkv_weight, , mask, , b)
      y = com.microsoft.Attention <num_heads = 2, scale = 1.0> (h, Attention_0_qkv_weight, , mask, , b))"));
  const Lines attention =
      kLinears + kHeads + Lines{"transpose", "matmul", "add", "softmax", "matmul", "transpose", "reshape"};
  CHECK(operators == kMask +
                         Lines{"arange", "unsqueeze", "arange", "unsqueeze", "sub", "abs", "embedding", "permute",
                               "unsqueeze", "add"} +
                         attention + attention);
}

constexpr const char* kGrouped = R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 3, 8] x, float[batch, 1, 5, 4] pk, float[batch, 1, 5, 4] pv, int32[batch] l)
      => (float[batch, 3, 8] y) <float[8, 16] `attn.qkv_proj.MatMul.weight`, int32 n = {3}, float[64, 2] c,
                                 float[64, 2] s> {
      p = MatMul (x, `attn.qkv_proj.MatMul.weight`)
        # name: /attn/qkv_proj/MatMul
    y, k, v = com.microsoft.GroupQueryAttention <num_heads=2, kv_num_heads=1, do_rotary=1> (p, , , pk, pv, l, n, c, s)
        # name: /attn/GroupQueryAttention
    })";

TEST_CASE("grouped attention of the model builder is three linears, turned heads, and fewer of keys") {
  Notes notes;
  const Layers layers = testing::Lifted(kGrouped, &notes, "onnxruntime-genai 0.18.0");
  const Lines table = {"arange", "full", "mul", "cat", "cos", "mul", "sin", "mul"};
  const Lines turned = {"reshape", "transpose", "mul", "slice", "slice", "neg", "cat", "mul", "add"};
  CHECK(OperatorsOf(layers) ==
        table + kLinears + turned + turned +
            Lines{"cat", "reshape", "transpose", "cat", "scaled_dot_product_attention", "transpose", "reshape"});
  CHECK(ParametersOf(layers) == "attn.q_proj.weight[8, 8] attn.k_proj.weight[4, 8] attn.v_proj.weight[4, 8] ");
  CHECK(layers.buffers.empty());
}

TEST_CASE("rotary embedding turns the first columns and leaves the others") {
  const auto operators = [](const char* tables) {
    return OperatorsOf(Fused(std::string("<int64[1] zero = {0}, ") + tables + ">",
                             "y = com.microsoft.RotaryEmbedding <num_heads = 2> (x, zero, c, s)"));
  };
  const Lines heads = {"arange", "full", "mul", "cat", "cos", "mul", "sin", "mul", "reshape", "transpose"};
  const Lines turned = {"mul", "slice", "slice", "neg", "cat", "mul", "add"};
  const Lines back = {"transpose", "reshape"};
  CHECK(operators("float[64, 2] c, float[64, 2] s") == heads + turned + back);
  CHECK(operators("float[64, 1] c, float[64, 1] s") == heads + Lines{"slice"} + turned + Lines{"slice", "cat"} + back);
}

TEST_CASE("ONNX Runtime's embeddings are three tables, two sums and a norm") {
  CHECK(testing::LiftedLines(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1], producer_name: "pytorch">
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
