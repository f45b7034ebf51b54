#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using testing::LiftedLines;
using Lines = std::vector<std::string>;

TEST_CASE("convolutions: rank, attributes, groups, transposed") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 2, 16, 16] y) <
      float[6, 2, 3, 3] `c.weight`, float[6] `c.bias`, float[6, 2, 2, 2] `t.weight`> {
      a = Conv <group = 2, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1], dilations = [1, 1]>
        (x, `c.weight`, `c.bias`)
      y = ConvTranspose <kernel_shape = [2, 2], strides = [2, 2]> (a, `t.weight`)
    })") == Lines{"conv2d(x, c.weight, c.bias) -> [B, 6, 8, 8] dilation=[1,1] groups=2 kernel_size=[3,3] padding=[1,1] "
                  "stride=[1,1]",
                  "conv_transpose2d(a, t.weight, -) -> [B, 2, 16, 16] dilation=[1,1] groups=1 kernel_size=[2,2] "
                  "output_padding=[0,0] padding=[0,0] stride=[2,2]"});
}

TEST_CASE("a convolution whose weights have a made-up name had a batch norm; once it is said") {
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <
      float[4, 4, 1, 1] `onnx::Conv_10`, float[4] `onnx::Conv_11`, float[4, 4, 1, 1] `onnx::Conv_13`> {
      `onnx::Conv_14` = Identity (`onnx::Conv_11`)
      a = Conv (x, `onnx::Conv_10`, `onnx::Conv_11`)
        # name: /a/Conv
      y = Conv (a, `onnx::Conv_13`, `onnx::Conv_14`)
        # name: /b/Conv
    })",
                                        &notes);
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == "restored-batch-norm");
  CHECK(notes.all()[0].text.find("2 convolutions") != std::string::npos);
  Lines parameters;
  for (const ValueId id : layers.parameters) parameters.push_back(layers[id].name);
  CHECK(parameters == Lines{"a.weight", "a_norm.weight", "a_norm.bias", "b.weight", "b_norm.weight", "b_norm.bias"});
}

TEST_CASE("pools: with pads they have a window, without they are adaptive") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 1, 1] y) {
      a = MaxPool <kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2], ceil_mode = 0> (x)
      b = AveragePool <kernel_shape = [2, 2], pads = [0, 0, 0, 0], strides = [1, 1]> (a)
      c = AveragePool <kernel_shape = [1, 1], strides = [1, 1]> (b)
      y = GlobalAveragePool (c)
    })") == Lines{"max_pool2d(x) -> [B, 4, 4, 4] ceil_mode=0 kernel_size=[3,3] padding=[1,1] stride=[2,2]",
                  "avg_pool2d(a) -> [B, 4, 3, 3] ceil_mode=0 kernel_size=[2,2] padding=[0,0] stride=[1,1]",
                  "adaptive_avg_pool2d(b) -> [B, 4, 3, 3]", "adaptive_avg_pool2d(c) -> [B, 4, 1, 1]"});
}

TEST_CASE("resize by mode and rank") {
  CHECK(LiftedLines(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 32, 32] y) {
      scales = Constant <value = float[4] {1.0, 1.0, 2.0, 2.0}> ()
      a = Resize <mode = "nearest"> (x, , scales)
      y = Resize <mode = "linear"> (a, , scales)
    })") == Lines{"upsample_nearest2d(x) -> [B, 4, 16, 16]", "upsample_bilinear2d(a) -> [B, 4, 32, 32]"});
}

TEST_CASE("a folded batch norm is known by what the result or the bias is called") {
  const auto folded = [](const std::string& result, const std::string& bias, const char* producer) {
    Notes notes;
    testing::Lifted(
        "agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4, 4, 1, 1] `c.weight`, "
        "float[4] `" +
            bias + "`> {\n `" + result + "` = Conv (x, `c.weight`, `" + bias + "`)\n y = Relu (`" + result + "`)\n}",
        &notes, producer);
    return notes.Has("restored-batch-norm");
  };
  CHECK(folded("getitem_3", "c.weight_bias", "pytorch 2.10.0"));
  CHECK(folded("model/bn/FusedBatchNormV3:0", "b", "tf2onnx 1.16.1"));
  CHECK(folded("h", "model/conv2d/Conv2D_bias_fused_bn", "tf2onnx 1.16.1"));
  CHECK(!folded("conv2d_3", "c.bias", "pytorch 2.10.0"));
  CHECK(!folded("getitem_3", "c.bias", "tf2onnx 1.16.1"));
}

TEST_CASE("auto_pad says the padding by the result; what one side has more is padded in front") {
  const auto lines = [](const std::string& same, int kernel) {
    const std::string k = std::to_string(kernel);
    return LiftedLines("agraph (float[batch, 2, 8] x) => (float[batch, 4, 8] y) <float[4, 2, " + k +
                       "] `c.weight`> {\n y = Conv <auto_pad = \"" + same + "\", kernel_shape = [" + k +
                       "]> (x, `c.weight`)\n}");
  };
  const std::string rest = " dilation=[1] groups=1 kernel_size=";
  CHECK(lines("SAME_UPPER", 3) == Lines{"conv1d(x, c.weight, -) -> [B, 4, 8]" + rest + "[3] padding=[1] stride=[1]"});
  CHECK(lines("SAME_UPPER", 4)[0] == "pad(x) -> [B, 2, 9] mode=constant pad=[0,1]");
  CHECK(lines("SAME_UPPER", 4)[1] ==
        "conv1d(Conv_0..pad, c.weight, -) -> [B, 4, 8]" + rest + "[4] padding=[1] stride=[1]");
  CHECK(lines("SAME_LOWER", 4)[0] == "pad(x) -> [B, 2, 9] mode=constant pad=[1,0]");
}

}  // namespace
}  // namespace vramplan
