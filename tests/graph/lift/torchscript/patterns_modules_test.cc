#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

// The chain of module calls of one layer, innermost last.
Lines PathsOf(const Layers& layers, size_t layer) {
  Lines paths;
  for (ModuleId id = layers.layers[layer].module; id.valid() && id.value > 0; id = layers[id].parent) {
    paths.insert(paths.begin(), layers[id].path);
  }
  return paths;
}

TEST_CASE("module paths from scopes: Sequentials, lists, second calls, nodes whose scope was forgotten") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <float[4] `enc.layers.0.norm_1.weight`> {
      a = Relu (x)
        # name: /layer1/layer1.0/relu/Relu
      b = Relu (a)
        # name: /layer1/layer1.0/relu_1/Relu
      c = Mul (b, `enc.layers.0.norm_1.weight`)
        # name: /enc/layers.0/norm_1/Mul
      d = Sigmoid (c)
        # name: /enc/layers.0/norm/Sigmoid
      e = Tanh (d)
        # name: Tanh_77
      y = Abs (e)
        # name: /Abs
    })");
  REQUIRE(layers.layers.size() == 6);
  CHECK(PathsOf(layers, 0) == Lines{"layer1", "layer1.0", "layer1.0.relu"});
  CHECK(PathsOf(layers, 1) == Lines{"layer1", "layer1.0", "layer1.0.relu"});
  CHECK(PathsOf(layers, 2) == Lines{"enc", "enc.layers.0", "enc.layers.0.norm_1"});  // a name, not a second call
  CHECK(PathsOf(layers, 3) == Lines{"enc", "enc.layers.0", "enc.layers.0.norm"});
  CHECK(PathsOf(layers, 4) == Lines{"enc", "enc.layers.0", "enc.layers.0.norm"});
  CHECK(PathsOf(layers, 5) == Lines{});
}

TEST_CASE("calls of one module behind each other are told apart by their numbers, whatever runs inside them") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) {
      a = Relu (x)
        # name: /cell/Relu
      b = Tanh (a)
        # name: /cell/act/Tanh
      c = Sigmoid (b)
        # name: /cell/Sigmoid
      d = Relu (c)
        # name: /cell_1/Relu
      e = Tanh (d)
        # name: /cell/act_1/Tanh
      y = Sigmoid (e)
        # name: /cell_1/Sigmoid
    })");
  REQUIRE(layers.layers.size() == 6);
  const auto call_of = [&](size_t layer) { return layers.layers[layer].module; };
  CHECK(call_of(0) == call_of(2));
  CHECK(call_of(3) == call_of(5));
  CHECK(call_of(0) != call_of(3));
  CHECK(layers[call_of(4)].parent == call_of(3));
  CHECK(layers[call_of(3)].path == "cell");
}

TEST_CASE("what a call calls first stands in it, though the exporter writes it in the scope of the first call") {
  const auto calls = [](const std::string& second) {
    const Layers layers = testing::Lifted(R"(
      agraph (float[batch, 4] x) => (float[batch, 4] y) {
        a = Tanh (x)
          # name: /cell/act/Tanh
        b = Relu (a)
          # name: /cell/Relu
        c = Tanh (b)
          # name: /cell/)" + second + R"(/Tanh
        y = Relu (c)
          # name: /cell_1/Relu
      })");
    REQUIRE(layers.layers.size() == 4);
    std::vector<ModuleId> cells;
    for (const Layer& layer : layers.layers)
      cells.push_back(layer.op == "relu" ? layer.module : layers[layer.module].parent);
    return cells;
  };
  const std::vector<ModuleId> once = calls("act_1");
  CHECK(once[0] == once[1]);
  CHECK(once[2] == once[3]);
  CHECK(once[1] != once[2]);
  const std::vector<ModuleId> unknown = calls("other");  // of the first call, or of the second
  CHECK(unknown[0] == unknown[3]);
}

TEST_CASE("a sum that ONNX Runtime fused with a norm stands where its name says") {
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 3, 4] x) => (float[batch, 3, 4] y) <float[4] `enc.layer.0.norm.weight`, float[4] b> {
      a = Relu (x)
        # name: /enc/layer.0/act/Relu
      y, , , `/enc/Add_output_0` = com.microsoft.SkipLayerNormalization (a, x, `enc.layer.0.norm.weight`, b)
        # name: SkipLayerNorm_0
    })");
  REQUIRE(layers.layers.size() == 3);
  CHECK(PathsOf(layers, 1) == Lines{"enc"});
}

TEST_CASE("a last product that a simplifier named stands where the bias does that only it reads") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 2] y)
      <float[4] `m.enc.shared`, float[4, 2] `onnx::MatMul_7`, float[2] `m.head.bias`> {
      a = Relu (x)
        # name: /m/enc/norm/Relu
      b = Add (a, `m.enc.shared`)
        # name: Add_4
      c = Mul (b, `m.enc.shared`)
        # name: Mul_5
      y = Gemm (c, `onnx::MatMul_7`, `m.head.bias`)
        # name: Gemm_6
    })");
  REQUIRE(layers.layers.size() == 4);
  CHECK(PathsOf(layers, 1) == Lines{"m", "m.enc", "m.enc.norm"});
  CHECK(PathsOf(layers, 2) == Lines{"m", "m.enc", "m.enc.norm"});
  CHECK(PathsOf(layers, 3) == Lines{"m", "m.head"});
}

}  // namespace
}  // namespace vramplan
