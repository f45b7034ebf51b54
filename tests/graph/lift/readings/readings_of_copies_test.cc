#include "graph/lift/readings/readings_of_copies.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "graph/lift/readings/readings_of_casts.h"
#include "tests/support/layers_by_hand.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

Layers File(const std::string& body) {
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8, 6] x) => (float[batch, c, d] y) )" +
                         body);
}

TEST_CASE("a transpose beside a norm lies as it is, or is copied") {
  const Layers layers = File(R"(<float[6] g, float[6] b> {
      t = Transpose <perm = [0, 2, 1]> (x)
      r = Relu (t)
      u = Transpose <perm = [0, 2, 1]> (r)
      n = LayerNormalization (u, g, b)
      y = Neg (n)
    })");
  REQUIRE(OperatorsOf(layers) == "transpose relu transpose layer_norm neg");
  const std::optional<Reading> dense = DenseTransposesInstead(layers);
  REQUIRE(dense);
  CHECK(dense->code == "contiguous-guessed");
  CHECK(OperatorsOf(dense->layers) == "transpose relu transpose contiguous layer_norm neg");
  CHECK(dense->layers.layers[4].inputs[0] == dense->layers.layers[3].outputs[0]);
  CHECK(dense->layers.layers[3].inputs[0] == layers.layers[2].outputs[0]);
}

TEST_CASE("a transpose that a product reads is not asked about, nor one that the dynamo exporter names") {
  const Layers product = File("<float[8, 4] w> { t = Transpose <perm = [0, 2, 1]> (x)\n y = MatMul (t, w) }");
  CHECK(!DenseTransposesInstead(product));
  Layers named = File(R"(<float[8] g, float[8] b> {
      t = Transpose <perm = [0, 2, 1]> (x)
      y = LayerNormalization (t, g, b)
    })");
  CHECK(DenseTransposesInstead(named));
  for (Layer& layer : named.layers) layer.evidence = Evidence::kProvenance;
  CHECK(!DenseTransposesInstead(named));
}

TEST_CASE("equal tables in copies of a module are their own, or one") {
  Layers layers = File("{ a = Neg (x)\n b = Neg (a)\n y = Neg (b) }");
  for (int block = 0; block < 3; ++block) {
    const std::string name = "/layers." + std::to_string(block) + (block < 2 ? "/attn/mask" : "/mlp/table");
    const ValueId table = layers.Add(Value{name, DType::kFloat32, Shape{64, 64}, Role::kBuffer});
    layers.buffers.push_back(table);
    layers.layers[static_cast<size_t>(block)].op = "add";
    layers.layers[static_cast<size_t>(block)].inputs.push_back(table);
  }
  const std::optional<Reading> one = OneTableInstead(layers);
  REQUIRE(one);
  CHECK(one->code == "tables-guessed");
  CHECK(one->layers.buffers.size() == layers.buffers.size() - 1);
  CHECK(one->layers.layers[1].inputs[1] == layers.layers[0].inputs[1]);
  CHECK(one->layers.layers[2].inputs[1] == layers.layers[2].inputs[1]);
  layers.values[layers.buffers[0].index()].name = "model.relative_position_bias";  // a buffer of its own, by name
  CHECK(!OneTableInstead(layers));
}

TEST_CASE("leaky_relu as a call behind a convolution: a tensor of its own, or in place") {
  const Layers layers = File("<float[4, 8, 1] w> { h = Conv (x, w)\n a = LeakyRelu <alpha = 0.1> (h)\n y = Neg (a) }");
  const std::optional<Reading> in_place = InPlaceCallsInstead(layers);
  REQUIRE(in_place);
  CHECK(in_place->layers.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(!InPlaceCallsInstead(File("{ h = Neg (x)\n y = LeakyRelu <alpha = 0.1> (h) }")));
  CHECK(!InPlaceCallsInstead(
      File("<float[4, 8, 1] w> { h = Conv (x, w)\n a = LeakyRelu <alpha = 0.1> (h)\n y = Add (a, h) }")));
}

TEST_CASE("a dropout of a map: a mask beside a new tensor, or noise in place") {
  Layers layers = File("{ h = Neg (x)\n a = Neg (h)\n y = Neg (a) }");
  layers.layers[1].op = "dropout";
  CHECK(!InPlaceDropoutsInstead(layers));  // of a sequence
  layers.values[layers.layers[0].outputs[0].index()].shape = Shape{Dim::Batch(), 8, 6, 6};
  const std::optional<Reading> in_place = InPlaceDropoutsInstead(layers);
  REQUIRE(in_place);
  CHECK(in_place->layers.layers[1].attributes.Int("inplace", 0) == 1);
  layers.layers[0].op = "relu";  // which keeps its result: PyTorch refuses to write into it
  CHECK(!InPlaceDropoutsInstead(layers));
}

TEST_CASE("a sum of what a convolution made: a tensor of its own, or in place") {
  Layers layers = File("<float[8, 8, 1] w> { h = Conv (x, w)\n y = Add (h, x) }");
  const std::optional<Reading> in_place = InPlaceSumsInstead(layers);
  REQUIRE(in_place);
  CHECK(in_place->layers.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(!InPlaceSumsInstead(File("<float[8, 8, 1] w> { h = Conv (x, w)\n y = Add (x, h) }")));
  CHECK(!InPlaceSumsInstead(File("{ h = Sigmoid (x)\n y = Add (h, x) }")));  // sigmoid keeps its result
  layers.source.stacks.resize(1);
  CHECK(!InPlaceSumsInstead(layers));
}

TEST_CASE("a product with what a convolution made: a tensor of its own, or in place") {
  const Layers layers = File("<float[8, 8, 1] w> { h = Conv (x, w)\n y = Mul (h, x) }");
  const std::optional<Reading> in_place = InPlaceProductsInstead(layers);
  REQUIRE(in_place);
  CHECK(in_place->code == "in-place-products");
  CHECK(in_place->layers.layers[1].attributes.Int("inplace", 0) == 1);
  CHECK(!InPlaceProductsInstead(File("<float[8, 8, 1] w> { h = Conv (x, w)\n y = Add (h, x) }")));
  CHECK(!InPlaceProductsInstead(File("{ h = Sigmoid (x)\n y = Mul (h, x) }")));
  // What shows a parameter, or a part of something, is not written into.
  for (const char* op : {"reshape", "select"}) {
    CAPTURE(op);
    Layers views = File("{ h = Neg (x)\n y = Mul (h, x) }");
    views.layers[0].op = op;
    if (op == std::string("reshape"))
      views.layers[0].inputs[0] = views.Add(Value{"w", DType::kFloat32, Shape{8, 6}, Role::kParameter});
    CHECK(!InPlaceProductsInstead(views));
  }
}

TEST_CASE("coordinates of grid_sample: fp32 under autocast, or of its input's type") {
  Layers layers = File("{ a = Neg (x)\n y = Neg (a) }");
  layers.layers[1].op = "grid_sampler";
  layers.layers[1].inputs = {layers.layers[0].outputs[0], layers.inputs[0]};
  const std::optional<Reading> cast = GridsAsOperandsInstead(layers);
  REQUIRE(cast);
  REQUIRE(OperatorsOf(cast->layers) == "neg type_as grid_sampler");
  CHECK(cast->layers.layers[2].inputs[1] == cast->layers.layers[1].outputs[0]);
  CHECK(cast->layers.layers[1].inputs == std::vector<ValueId>{layers.inputs[0], layers.layers[0].outputs[0]});
}

TEST_CASE("a tensor of numbers: fp32 under autocast, or of the type of what it meets") {
  Layers layers = File("{ a = Neg (x)\n y = Neg (a) }");
  const ValueId anchors = layers.Add(Value{"/head/Constant_output_0", DType::kFloat32, Shape{8, 6}, Role::kBuffer});
  layers.buffers.push_back(anchors);
  layers.layers[1].op = "add";
  layers.layers[1].inputs.push_back(anchors);
  const std::optional<Reading> halves = HalfConstantsInstead(layers);
  REQUIRE(halves);
  CHECK(halves->code == "constant-type-guessed");
  REQUIRE(OperatorsOf(halves->layers) == "neg zeros add");
  CHECK(halves->layers.layers[1].attributes.Int("like_half", 0) == 1);
  CHECK(halves->layers.layers[2].inputs[1] == halves->layers.layers[1].outputs[0]);
  layers.values[anchors.index()].name = "head.anchors";
  CHECK(!HalfConstantsInstead(layers));
}

TEST_CASE("one_hot(i, n).to(x.dtype) in front of a product: fp32 under autocast, or halves") {
  Layers layers = File("<float[6, 4] w> { a = Neg (x)\n y = MatMul (a, w) }");
  layers.layers[0].op = "to";
  CHECK(!HalfConstantsInstead(layers));  // of floats
  layers.values[layers.inputs[0].index()].type = DType::kInt64;
  const std::optional<Reading> halves = HalfConstantsInstead(layers);
  REQUIRE(halves);
  CHECK(OperatorsOf(halves->layers) == "half matmul");
  layers.layers[1].op = "add";
  CHECK(!HalfConstantsInstead(layers));
}

}  // namespace
}  // namespace vramplan
