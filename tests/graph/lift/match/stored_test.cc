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

TEST_CASE("a mask that is only compared, and a tied output layer's bias in transformers, are buffers") {
  CHECK(StoredOf(testing::Lifted(R"(
    agraph (float[batch, 1, 4, 4] x) => (float[batch, 1, 4, 4] y) <
      float[1, 1, 8, 8] `h.bias`, float[1, 4] `final_logits_bias`, float[1, 4] `pos`> {
      zero = Constant <value = float {0.0}> ()
      from = Constant <value = int64[2] {0, 0}> ()
      to = Constant <value = int64[2] {4, 4}> ()
      axes = Constant <value = int64[2] {2, 3}> ()
      part = Slice (`h.bias`, from, to, axes)
      hidden = Equal (part, zero)
      w = Where (hidden, zero, x)
      z = Add (w, `final_logits_bias`)
      y = Add (z, `pos`)
    })")) == Stored{{"pos [1, 4]"}, {"h.bias [1, 1, 8, 8]", "final_logits_bias [1, 4]"}});
}

TEST_CASE(
    "masks, tables of rotations and a module's only `pe` are buffers; a mask_token and a `pe` beside weights are not") {
  CHECK(StoredOf(testing::Lifted(R"(
    agraph (float[batch, 4] x) => (float[batch, 4] y) <
      float[4] `conv.mask`, float[4] `b.attn_mask`, float[4] freqs_cos, float[4] mask_token, float[1, 4] `pos.pe`,
      float[1, 4] `embed.pe`, float[4] `embed.weight`> {
      a = Mul (x, `conv.mask`)
      b = Add (a, `b.attn_mask`)
      c = Mul (b, freqs_cos)
      d = Add (c, mask_token)
      e = Add (d, `pos.pe`)
      f = Add (e, `embed.pe`)
      y = Mul (f, `embed.weight`)
    })")) == Stored{{"mask_token [4]", "embed.pe [1, 4]", "embed.weight [4]"},
                    {"conv.mask [4]", "b.attn_mask [4]", "freqs_cos [4]", "pos.pe [1, 4]"}});
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

// for l in self.layers: x = l["f"](x), in a module that is called twice.
TEST_CASE("equal matrices of modules in a list that runs twice are tied where they read the same bias") {
  const auto parameters = [](const std::string& third, const std::string& fourth) {
    return StoredOf(testing::Lifted(R"(
    agraph (float[batch, 3, 4] x) => (float[batch, 3, 4] y) <
      float[4] `m.layers.0.f.bias`, float[4] `m.layers.1.f.bias`, float[4] `m.layers.2.f.bias`,
      float[4] `m.layers.3.f.bias`, float[4, 4] `onnx::MatMul_1`, float[4, 4] `onnx::MatMul_2`> {
      `onnx::MatMul_3` = Identity (`onnx::MatMul_1`)
      `onnx::MatMul_4` = Identity (`onnx::MatMul_2`)
      a = MatMul (x, `onnx::MatMul_1`)
        # name: /m/f/MatMul
      b = Add (`m.layers.0.f.bias`, a)
        # name: /m/f/Add
      c = MatMul (b, `onnx::MatMul_2`)
        # name: /m/f_1/MatMul
      d = Add (`m.layers.1.f.bias`, c)
        # name: /m/f_1/Add
      e = MatMul (d, `onnx::MatMul_3`)
        # name: /m/f_2/MatMul
      f = Add (`)" + third + R"(`, e)
        # name: /m/f_2/Add
      g = MatMul (f, `onnx::MatMul_4`)
        # name: /m/f_3/MatMul
      y = Add (`)" + fourth + R"(`, g)
        # name: /m/f_3/Add
    })"))
        .parameters;
  };
  CHECK(parameters("m.layers.0.f.bias", "m.layers.1.f.bias").size() == 6);  // two matrices, the four biases of the file
  CHECK(parameters("m.layers.2.f.bias", "m.layers.3.f.bias").size() == 8);
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
