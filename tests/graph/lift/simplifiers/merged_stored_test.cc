#include <doctest/doctest.h>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

std::string NamesOf(const Layers& layers, const std::vector<ValueId>& ids) {
  std::string names;
  for (const ValueId id : ids) names += (names.empty() ? "" : ", ") + layers[id].name;
  return names;
}

TEST_CASE("batch norms whose ones and zeros a simplifier merged have their own again") {
  // onnxslim 0.1.98 and onnxsim 0.8.1 write torchvision's untrained ResNet-18 so.
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 4, 8, 8] x) => (float[batch, 4, 8, 8] y) <float[4] `a.weight`, float[4] `a.bias`> {
      h, m, v = BatchNormalization <training_mode = 1> (x, `a.weight`, `a.bias`, `a.bias`, `a.weight`)
        # name: /a/BatchNormalization
      y, n, w = BatchNormalization <training_mode = 1> (h, `a.weight`, `a.bias`, `a.bias`, `a.weight`)
        # name: /b/BatchNormalization
    })",
                                        &notes);
  CHECK(NamesOf(layers, layers.parameters) == "a.weight, a.bias, b.weight, b.bias");
  CHECK(NamesOf(layers, layers.buffers) ==
        "a.running_var, a.num_batches_tracked, b.running_var, b.num_batches_tracked, a.running_mean, b.running_mean");
  CHECK(notes.Has("merged-tensors"));
}

TEST_CASE("biases that ONNX Runtime's optimizer moved into other nodes belong to their products") {
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17, "com.microsoft" : 1]>
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8, 8] `onnx::MatMul_1`, float[8, 8] `onnx::MatMul_2`, float[8] `a.bias`, float[8] `n.weight`> {
      p = MatMul (x, `onnx::MatMul_1`)
        # name: /a/MatMul
      g = com.microsoft.BiasGelu (p, `a.bias`)
        # name: /act/Gelu
      q = MatMul (g, `onnx::MatMul_2`)
        # name: /b/MatMul
      y = com.microsoft.SkipLayerNormalization (q, x, `n.weight`, `a.bias`, `a.bias`)
        # name: /n/Norm
    })",
                                        &notes);
  CHECK(layers.parameters.size() == 6);  // two weights, two biases of theirs, the norm's two
  CHECK(notes.Has("merged-tensors"));
}

TEST_CASE("a module that is called twice keeps one weight and one bias") {
  Notes notes;
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 8] x) => (float[batch, 8] y) <float[8] `n.weight`, float[8] `n.bias`> {
      h = LayerNormalization <axis = -1> (x, `n.weight`, `n.bias`)
        # name: /n/LayerNormalization
      y = LayerNormalization <axis = -1> (h, `n.weight`, `n.bias`)
        # name: /n_1/LayerNormalization
    })",
                                        &notes);
  CHECK(layers.parameters.size() == 2);
  CHECK(!notes.Has("merged-tensors"));
}

TEST_CASE("a bias belongs to one weight; copies of a layer are merged by the same tool, ties of other layers are not") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8, 8] `layers.0.fc.weight`, float[8, 8] `head.weight`, float[8] `layers.0.fc.bias`> {
      a = MatMul (x, `layers.0.fc.weight`)
        # name: /layers.0/fc/MatMul
      b = Add (a, `layers.0.fc.bias`)
        # name: /layers.0/fc/Add
      c = MatMul (b, `layers.0.fc.weight`)
        # name: /layers.1/fc/MatMul
      d = Add (c, `layers.0.fc.bias`)
        # name: /layers.1/fc/Add
      e = MatMul (d, `head.weight`)
        # name: /head/MatMul
      f = Add (e, `layers.0.fc.bias`)
        # name: /head/Add
      y = MatMul (f, `head.weight`)
        # name: /tied/MatMul
    })");
  CHECK(NamesOf(layers, layers.parameters) ==
        "layers.0.fc.weight, head.weight, layers.0.fc.bias, layers.1.fc.weight, layers.1.fc.bias, head.bias");
}

TEST_CASE("without scopes the products behind norms tell that they are several") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8] `ln.weight`, float[8] `ln.bias`, float[8, 8] val_1, float[8, 8] val_2> {
      a = LayerNormalization <axis = -1> (x, `ln.weight`, `ln.bias`)
      b = MatMul (a, val_1)
      c = LayerNormalization <axis = -1> (b, `ln.weight`, `ln.bias`)
      y = MatMul (c, val_2)
    })");
  CHECK(layers.parameters.size() == 6);
}

TEST_CASE("a weight that was folded once a call of its module is one parameter; two of one call are two") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8, 8] `onnx::MatMul_1`, float[8, 8] `onnx::MatMul_2`, float[8, 8] `onnx::MatMul_3`, float[8, 8] `onnx::MatMul_4`> {
      a = MatMul (x, `onnx::MatMul_1`)
        # name: /block/fc/MatMul
      b = MatMul (a, `onnx::MatMul_2`)
        # name: /block/fc/MatMul_1
      c = MatMul (b, `onnx::MatMul_3`)
        # name: /block/fc_1/MatMul
      y = MatMul (c, `onnx::MatMul_4`)
        # name: /block/fc_1/MatMul_1
    })");
  CHECK(layers.parameters.size() == 2);
}

TEST_CASE("products that a simplifier named belong where the view of their result does") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 3, 8] x) => (float[batch, 3, 8] y) <
      float[8, 8] `onnx::MatMul_1`, float[8] `layers.0.fc.bias`, float[8] `n.weight`> {
      rows = Constant <value = int64[2] {-1, 8}> ()
      back = Constant <value = int64[3] {-1, 3, 8}> ()
      a = Reshape (x, rows)
      b = Gemm (a, `onnx::MatMul_1`, `layers.0.fc.bias`)
      `/layers.0/fc/Add_output_0` = Reshape (b, back)
      n = LayerNormalization <axis = -1> (`/layers.0/fc/Add_output_0`, `n.weight`, `layers.0.fc.bias`)
        # name: /n/LayerNormalization
      c = Reshape (n, rows)
      d = Gemm (c, `onnx::MatMul_1`, `layers.0.fc.bias`)
      `/layers.1/fc/Add_output_0` = Reshape (d, back)
      y = Relu (`/layers.1/fc/Add_output_0`)
    })");
  CHECK(layers.parameters.size() == 6);
}

}  // namespace
}  // namespace vramplan
