#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

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

}  // namespace
}  // namespace vramplan
