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
