#include <doctest/doctest.h>

#include <algorithm>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::Lifted;
using testing::LiftedLines;
using Lines = std::vector<std::string>;

Lines ParametersOf(const Layers& layers) {
  Lines lines;
  for (const ValueId id : layers.parameters) lines.push_back(layers[id].name + " " + ToString(layers[id].shape));
  return lines;
}

TEST_CASE("dynamo without metadata: a pool to one pixel, softplus") {
  const Lines lines = LiftedLines(R"(
    agraph (float[batch, 4, 2, 2] x) => (float[batch, 4, 1, 1] y) {
      flat = Constant <value = int64[1] {-1}> ()
      zero = Constant <value = int64 {0}> ()
      one = Constant <value = int64 {1}> ()
      behind = Constant <value = int64[3] {1, 2, 3}> ()
      channels = Constant <value = int64[1, 4, 1, 1] {0, 1, 2, 3}> ()
      threshold = Constant <value = float {20.0}> ()
      mean = ReduceMean <keepdims = 1, axes = [-1, -2]> (x)
        # name: node_mean
      val_1 = Reshape (mean, flat)
        # name: node_Reshape_1
      val_2 = Shape <start = 0, end = 1> (x)
        # name: node_Shape_2
      val_3 = Squeeze (val_2)
        # name: node_Squeeze_3
      val_4 = Range (zero, val_3, one)
        # name: node_Range_4
      val_5 = Unsqueeze (val_4, behind)
        # name: node_Unsqueeze_5
      val_6 = Add (val_5, channels)
        # name: node_Add_6
      as_strided = Gather (val_1, val_6)
        # name: node_as_strided
      tmp = Softplus (as_strided)
        # name: n3
      tmp_1 = Greater (as_strided, threshold)
        # name: n9
      y = Where (tmp_1, as_strided, tmp)
        # name: n10
    })");
  CHECK(lines == Lines{"adaptive_avg_pool2d(x) -> [B, 4, 1, 1]", "softplus(as_strided) -> [B, 4, 1, 1]"});
}

TEST_CASE("F.rms_norm counts its axes from the front; one that was written by hand stays in parts") {
  const auto lifted = [](const std::string& axis, const std::string& result) {
    return LiftedLines(R"(
    agraph (float[batch, 3, 4] x) => (float[batch, 3, 4] y) <float[4] `norm.weight`> {
      two = Constant <value = float {2.0}> ()
      eps = Constant <value = float {1e-5}> ()
      pow_1 = Pow (x, two)
        # name: node_pow_1
      mean = ReduceMean <keepdims = 1, axes = [)" +
                       axis + R"(]> (pow_1)
        # name: node_mean
      add = Add (mean, eps)
        # name: node_add
      val_1 = Sqrt (add)
        # name: node_Sqrt_1
      rsqrt = Reciprocal (val_1)
        # name: node_rsqrt
      )" + result);
  };
  const std::string scaled = R"(mul = Mul (x, rsqrt)
        # name: node_mul
      mul_1 = Mul (mul, `norm.weight`)
        # name: node_mul_1
      y = Relu (mul_1)
        # name: node_relu
    })";
  const Lines parts = lifted("2", scaled);
  REQUIRE(parts.size() == 2);
  CHECK(parts[0] == "norm: rms_norm(x, norm.weight) -> [B, 3, 4]");
  const Lines by_hand = lifted("-1", scaled);
  CHECK(by_hand.size() > 5);
  // onnxslim drops a weight of ones and lets the norm have the product's name.
  const Lines lost = lifted("2", R"(mul_1 = Mul (x, rsqrt)
        # name: node_mul
      y = Relu (mul_1)
        # name: node_relu
    })");
  REQUIRE(lost.size() == 2);
  CHECK(lost[0] == "rms_norm(x, weight) -> [B, 3, 4]");
}

TEST_CASE("products that onnxsim joined are linears of their own") {
  const Layers layers = Lifted(R"(
    agraph (float[batch, 3, 4] x) => (float[batch, 3, 2] y) <
      float[4, 6] _v_1, float[2] `q.bias`, float[2] `k.bias`> {
      sizes = Constant <value = int64[3] {2, 2, 2}> ()
      _v_2 = MatMul (x, _v_1)
        # name: MatMul_0
      _v_3, _v_4, _v_5 = Split <axis = -1> (_v_2, sizes)
        # name: Split_1
      linear = Add (_v_3, `q.bias`)
        # name: node_linear
      linear_1 = Add (_v_4, `k.bias`)
        # name: node_linear_1
      mul = Mul (linear, linear_1)
        # name: node_mul
      y = Mul (mul, _v_5)
        # name: node_mul_1
    })");
  Lines lines = testing::LinesOf(layers);
  std::erase_if(lines, [](const std::string& line) { return line.find("linear(") == std::string::npos; });
  CHECK(lines.size() == 3);
  for (const std::string& line : lines) CHECK(line.find("-> [B, 3, 2]") != std::string::npos);
  Lines shapes;
  for (const ValueId id : layers.parameters) shapes.push_back(ToString(layers[id].shape));
  std::sort(shapes.begin(), shapes.end());
  CHECK(shapes == Lines{"[2, 4]", "[2, 4]", "[2, 4]", "[2]", "[2]"});
}

TEST_CASE("a linear that lost its bias of zeros has it again") {
  const Layers layers = Lifted(R"(
    agraph (float[batch, 3, 4] x) => (float[batch, 3, 2] y) <float[4, 4] val_1, float[4, 2] val_2> {
      val_3 = MatMul (x, val_1)
        # name: node_MatMul_3
      linear_1 = MatMul (val_3, val_2)
        # name: node_linear_1
      y = Relu (linear_1)
        # name: node_relu
    })");
  CHECK(ParametersOf(layers) ==
        Lines{"node_MatMul_3.weight [4, 4]", "node_MatMul_3.bias [4]", "linear_1.weight [2, 4]"});
}

TEST_CASE("a dropout that onnxslim dropped, and padding by nothing, by the names of their results") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      getitem = Relu (x)
        # name: node_relu
      pad = Sigmoid (getitem)
        # name: node_sigmoid
      y = Tanh (pad)
        # name: node_tanh
    })") == Lines{"relu(x) -> [B, 4]", "dropout(node_relu.before) -> [B, 4] p=0.5", "sigmoid(getitem) -> [B, 4]",
                  "pad(node_sigmoid.before) -> [B, 4] mode=constant pad=[0,0]", "tanh(pad) -> [B, 4]"});
}

TEST_CASE("a scale of channels that was folded into a convolution, by onnxslim, onnxsim and ONNX Runtime") {
  const auto lifted = [](const std::string& result, const std::string& weight, const std::string& node,
                         const std::string& last) {
    return Lifted("agraph (float[batch, 2, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4, 2, 1, 1] `" + weight +
                  "`, float[4] `fc.bias`> { `" + result + "` = Conv (x, `" + weight +
                  "`, `fc.bias`)\n # name: " + node + "\n y = Relu (`" + result + "`)\n # name: " + last + "\n }");
  };
  for (const Layers& layers :
       {lifted("mul_26", "mul_26_weight", "conv2d_3", "node_relu"),
        lifted("conv2d_3", "_v_127", "node_conv2d_3", "node_relu"),
        lifted("/blocks.0/Mul_output_0", "/blocks.0/Mul_output_0_weight", "/blocks.0/fc/Conv_output_0",
               "/blocks.0/Relu"),
        lifted("/blocks.0/Mul_output_0", "ConvMulFusion_W_fc.weight", "/blocks.0/fc/Conv", "/blocks.0/Relu")}) {
    Lines ops, gamma;
    for (const Layer& layer : layers.layers) ops.push_back(layer.op);
    CHECK(ops == Lines{"conv2d", "reshape", "mul", "relu"});
    for (const ValueId id : layers.parameters) {
      if (layers[id].name.ends_with("gamma")) gamma.push_back(ToString(layers[id].shape));
    }
    CHECK(gamma == Lines{"[4]"});
  }
  const Layers plain = lifted("conv2d_3", "fc.weight", "node_conv2d_3", "node_relu");
  CHECK(plain.layers.size() == 2);
  // Of the TorchScript exporter, through onnxsim: beside a convolution that kept its names.
  const auto simplified = [](const std::string& first) {
    return Lifted("agraph (float[batch, 2, 8, 8] x) => (float[batch, 2, 8, 8] y) <float[2, 2, 1, 1] `" + first + R"(`,
      float[2, 2, 1, 1] _v_9, float[2] _v_8> {
      h = Conv (x, `)" +
                  first + R"(`)
        # name: /a/Conv
      y = Conv (h, _v_9, _v_8)
        # name: /b/Conv
    })")
        .layers.size();
  };
  CHECK(simplified("a.weight") == 4);
  CHECK(simplified("_v_7") == 3);  // a batch norm behind the second
}

TEST_CASE("a mask that only positions make is not passed to attention, where classes have no names") {
  const Lines lines = LiftedLines(R"(
    agraph (float[batch, 2, 4, 8] q, float[batch, 2, 8, 4] k, float[batch, 2, 4, 8] v) => (float[batch, 2, 4, 8] y) {
      zero = Constant <value = float {0.0}> ()
      low = Constant <value = float {-1e38}> ()
      from = Constant <value = int64 {0}> ()
      to = Constant <value = int64 {4}> ()
      one = Constant <value = int64 {1}> ()
      query = Constant <value = int64[3] {0, 1, 3}> ()
      key = Constant <value = int64[3] {0, 1, 2}> ()
      scale = Constant <value = float {0.5946035}> ()
      size = Shape <end = 1> (q)
      ones = Constant <value = int64[3] {1, 4, 4}> ()
      target = Concat <axis = 0> (size, ones)
      arange = Range (from, to, one)
        # name: node_arange
      unsqueeze = Unsqueeze (arange, query)
        # name: node_unsqueeze
      unsqueeze_1 = Unsqueeze (arange, key)
        # name: node_unsqueeze_1
      le = LessOrEqual (unsqueeze_1, unsqueeze)
        # name: node_le
      expand = Expand (le, target)
        # name: node_expand
      val_1 = Mul (q, scale)
        # name: node_Mul_1
      val_2 = Mul (k, scale)
        # name: node_Mul_2
      val_3 = MatMul (val_1, val_2)
        # name: node_MatMul_3
      val_4 = Where (expand, zero, low)
        # name: node_Where_4
      val_5 = Add (val_3, val_4)
        # name: node_Add_5
      val_6 = Softmax <axis = -1> (val_5)
        # name: node_Softmax_6
      y = MatMul (val_6, v)
        # name: node_scaled_dot_product_attention
    })");
  REQUIRE(lines.size() == 2);  // the key's transpose, and the call
  CHECK(lines[1].find("is_causal=1") != std::string::npos);
}

TEST_CASE("a batch norm that the dynamo exporter folded is put back by its name") {
  Notes notes;
  const Layers layers = Lifted(R"(
    agraph (float[batch, 2, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 2, 1, 1] `conv1.weight`, float[4] getitem_bias> {
      getitem = Conv (x, `conv1.weight`, getitem_bias)
        # name: node_Conv_7
      y = Relu (getitem)
        # name: node_relu
    })",
                               &notes);
  Lines ops;
  for (const Layer& layer : layers.layers) ops.push_back(layer.op);
  CHECK(ops == Lines{"conv2d", "batch_norm", "relu"});
  CHECK(ParametersOf(layers) == Lines{"conv1.weight [4, 2, 1, 1]", "conv1_norm.weight [4]", "conv1_norm.bias [4]"});
  CHECK(notes.Has("restored-batch-norm"));
  CHECK(!notes.Has("folded-batch-norm"));
}

TEST_CASE("a folded lookup's rows in another type are a table's too, where they are added to rows of words") {
  const auto lines = [](const std::string& words) {
    return testing::LiftedLines(
        "agraph (int64[batch, 3] ids, float[batch, 3, 4] x) => (float[batch, 3, 4] y) <float[9, 4] `m.wte.weight`, "
        "float[1, 3, 4] `/m/Cast_output_0`> {\n w = " +
        words + "\n # name: /m/wte/Gather\n y = Add (w, `/m/Cast_output_0`)\n # name: /m/Add\n}");
  };
  CHECK(lines("Gather (`m.wte.weight`, ids)")[1] == "m: embedding(m.positions.weight, m.positions.ids) -> [1, 3, 4]");
  CHECK(lines("Relu (x)").size() == 2);
}

TEST_CASE("a lookup of positions that was folded: its rows are a table's, which is noted") {
  for (const char* name : {"embedding_1", "/emb/pos/Gather_output_0"}) {
    CAPTURE(name);
    Notes notes;
    const std::string node = name[0] == '/' ? "/emb/Add" : "node_add";
    const Layers layers =
        Lifted("agraph (float[batch, 3, 4] x) => (float[batch, 3, 4] y) <float[1, 3, 4] `" + std::string(name) +
                   "`> {\n y = Add (x, `" + name + "`)\n # name: " + node + "\n }",
               &notes);
    REQUIRE(notes.Has("folded-lookup"));
    CHECK(notes.all().front().text.find(
              "3 rows that it read are counted, and each further row adds 16 B to the parameters") !=
          std::string::npos);
    Lines ops;
    for (const Layer& layer : layers.layers) ops.push_back(layer.op);
    CHECK(ops == Lines{"embedding", "add"});
    REQUIRE(layers.parameters.size() == 1);
    CHECK(ToString(layers[layers.parameters[0]].shape) == "[3, 4]");
  }
}

TEST_CASE("nn.MultiheadAttention's key, whose two transpositions the export made one") {
  const Lines lines = LiftedLines(R"(
    agraph (float[batch, 2, 3, 4] q, float[3, batch, 8] k, float[batch, 2, 3, 4] v) => (float[batch, 2, 3, 4] y) {
      half = Constant <value = float {0.5946035}> ()
      heads = Constant <value = int64[3] {3, -1, 4}> ()
      target = Constant <value = int64[4] {-1, 2, 4, 3}> ()
      view = Reshape (k, heads)
        # name: node_view
      val_1 = Transpose <perm = [1, 2, 0]> (view)
        # name: node_Transpose_1
      val_2 = Reshape (val_1, target)
        # name: node_Reshape_2
      val_4 = Mul (q, half)
        # name: node_Mul_4
      val_5 = Mul (val_2, half)
        # name: node_Mul_5
      val_6 = MatMul (val_4, val_5)
        # name: node_MatMul_6
      val_7 = Softmax <axis = -1> (val_6)
        # name: node_Softmax_7
      y = MatMul (val_7, v)
        # name: node_scaled_dot_product_attention
    })");
  const auto find = [&](const std::string& text) {
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.find(text) != std::string::npos; });
  };
  CHECK(find("scaled_dot_product_attention(") == 1);
  CHECK(find("transpose(view) -> [2*B, 3, 4] dim0=0 dim1=1") == 1);
  CHECK(find("reshape(node_Transpose_1.key) -> [B, 2, 3, 4]") == 1);
}

}  // namespace
}  // namespace vramplan
