#include <doctest/doctest.h>

#include "graph/lift/lift.h"
#include "graph/shapes/infer.h"
#include "tests/support/lifted_text.h"
#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

struct Stored {
  Lines parameters, buffers;
  bool operator==(const Stored&) const = default;
};
Stored StoredOf(const Layers& layers) {
  Stored stored;
  for (const ValueId id : layers.parameters) {
    stored.parameters.push_back(layers[id].name + " " + ToString(layers[id].shape));
  }
  for (const ValueId id : layers.buffers) stored.buffers.push_back(layers[id].name + " " + ToString(layers[id].shape));
  return stored;
}

TEST_CASE("parameters come in the file's order; tables of integers and constants of the trace are buffers") {
  CHECK(StoredOf(testing::Lifted(R"(
    agraph (int64[batch, 3] ids) => (float[batch, 3, 4] y) <
      float[4] `norm.weight`, float[5] unused, float[10, 4] `emb.weight`, int64[3] `emb.remap`> {
      mask = Constant <value = float[3, 1] {1.0, 0.0, 1.0}> ()
      two = Constant <value = float {2.0}> ()
      i = Add (ids, `emb.remap`)
      e = Gather (`emb.weight`, i)
      m = Mul (e, mask)
      d = Mul (m, two)
      y = Mul (d, `norm.weight`)
    })")) == Stored{{"norm.weight [4]", "unused [5]", "emb.weight [10, 4]"}, {"emb.remap [3]", "mask [3, 1]"}});
}

TEST_CASE("equal tensors that an eval export merged: vectors and copies of layers are parameters of their own") {
  CHECK(StoredOf(testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <
      float[4] `layers.0.norm.weight`, float[4, 4] `onnx::MatMul_1`, float[4, 4] `onnx::MatMul_2`> {
      `layers.1.norm.weight` = Identity (`layers.0.norm.weight`)
      `onnx::MatMul_3` = Identity (`onnx::MatMul_1`)
      `onnx::MatMul_4` = Identity (`onnx::MatMul_2`)
      a = Mul (x, `layers.0.norm.weight`)
        # name: /layers.0/norm/Mul
      b = MatMul (a, `onnx::MatMul_1`)
        # name: /layers.0/fc/MatMul
      d = Mul (b, `layers.1.norm.weight`)
        # name: /layers.1/norm/Mul
      e = MatMul (d, `onnx::MatMul_3`)
        # name: /layers.1/fc/MatMul
      f = MatMul (e, `onnx::MatMul_2`)
        # name: /query/MatMul
      y = MatMul (f, `onnx::MatMul_4`)
        # name: /key/MatMul
    })")) == Stored{{"layers.0.norm.weight [4]", "layers.0.fc.weight [4, 4]", "layers.1.norm.weight [4]",
                     "layers.1.fc.weight [4, 4]", "query.weight [4, 4]"},
                    {}});
}

// Blocks of a list that is not called itself: self.layers[i]["n"], self.layers[i]["f"].
TEST_CASE("modules of a list of the model's own, whose scopes lost the list, have a weight each") {
  const auto parameters = [](const std::string& first, const std::string& second) {
    return StoredOf(testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <
      float[4] `)" + first + R"(`, float[4] `)" +
                                    second +
                                    R"(`, float[4, 4] `onnx::MatMul_1`, float[4, 4] `onnx::MatMul_2`> {
      a = Mul (x, `)" + first + R"(`)
        # name: /n/Mul
      b = MatMul (a, `onnx::MatMul_1`)
        # name: /f/l/MatMul
      c = Mul (b, `)" + second + R"(`)
        # name: /n_1/Mul
      y = MatMul (c, `onnx::MatMul_2`)
        # name: /f_1/l/MatMul
    })"))
        .parameters;
  };
  CHECK(parameters("layers.0.n.weight", "layers.1.n.weight").size() == 4);
  // A list beside which the model has a module of its own, which is called twice.
  CHECK(parameters("layers.0.n.weight", "f.n.weight").size() == 3);
}

TEST_CASE("equal kernels of two modules, which folded norms made, are parameters of their own") {
  CHECK(StoredOf(testing::Lifted(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4, 4, 1, 1] `onnx::Conv_1`> {
      `onnx::Conv_2` = Identity (`onnx::Conv_1`)
      a = Conv (x, `onnx::Conv_1`)
        # name: /stages.0/ffn/c/Conv
      y = Conv (a, `onnx::Conv_2`)
        # name: /down/mixer/c/Conv
    })"))
            .parameters == Lines{"stages.0.ffn.c.weight [4, 4, 1, 1]", "down.mixer.c.weight [4, 4, 1, 1]"});
}

TEST_CASE("a transposed copy of a table is tied where the numbers agree, or the table has the output layer's name") {
  const auto parameters = [](const std::string& table, std::vector<uint64_t> kept, std::vector<uint64_t> folded) {
    Graph graph = GraphFromText("agraph (int64[batch, 3] ids) => (float[batch, 3, 10] y) <float[10, 4] `" + table +
                                R"(`, float[4, 10] `onnx::MatMul_9`> {
      e = Gather (`)" + table + R"(`, ids)
        # name: /m/emb/Gather
      y = MatMul (e, `onnx::MatMul_9`)
        # name: /m/lm_head/MatMul
    })");
    graph.producer = "pytorch 2.10.0";
    for (Tensor& tensor : graph.tensors) {
      if (tensor.name == table) tensor.stored->grid = kept;
      if (tensor.name == "onnx::MatMul_9") tensor.stored->grid = folded;
    }
    Notes notes;
    const auto binding = Bind(graph, {}, &notes);
    REQUIRE(binding);
    const auto shapes = Infer(graph, *binding, &notes);
    REQUIRE(shapes);
    const auto layers = Lift(graph, *shapes, &notes);
    REQUIRE(layers);
    return std::to_string(layers->parameters.size()) + (notes.Has("maybe-tied") ? " maybe" : "");
  };
  std::vector<uint64_t> numbers(64), turned(64), other(64, 7);
  for (size_t i = 0; i < 64; ++i) numbers[i] = turned[i % 8 * 8 + i / 8] = i;
  CHECK(parameters("m.emb.weight", numbers, turned) == "1");
  CHECK(parameters("m.emb.weight", numbers, other) == "2");
  CHECK(parameters("m.emb.weight", {}, {}) == "2 maybe");
  CHECK(parameters("m.emb.weight", other, other) == "2 maybe");  // nothing was set
  CHECK(parameters("m.lm_head.weight", {}, {}) == "1");
  CHECK(parameters("m.lm_head.weight", numbers, other) == "2");  // the numbers know better
}

}  // namespace
}  // namespace vramplan
