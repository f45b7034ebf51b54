#include "graph/lift/readings/readings_of_weights.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace vramplan {
namespace {

// linear(embedding(ids, table), own): two weights of one shape, and a buffer that has lost its name.
Layers Model(const char* own = "head.weight") {
  Layers layers;
  const Shape matrix{Dim(100), Dim(64)};
  layers.values = {
      {"ids", DType::kInt64, Shape{Dim(8)}, Role::kInput}, {"embed.weight", DType::kFloat32, matrix, Role::kParameter},
      {own, DType::kFloat32, matrix, Role::kParameter},    {"onnx::Mul_7", DType::kFloat32, matrix, Role::kBuffer},
      {"h", DType::kFloat32, Shape{Dim(8), Dim(64)}},      {"y", DType::kFloat32, Shape{Dim(8), Dim(100)}}};
  layers.parameters = {ValueId{1}, ValueId{2}};
  layers.buffers = {ValueId{3}};
  Layer embed, head;
  embed.op = "embedding";
  embed.inputs = {ValueId{1}, ValueId{0}};
  embed.outputs = {ValueId{4}};
  head.op = "linear";
  head.inputs = {ValueId{4}, ValueId{2}, ValueId()};
  head.outputs = {ValueId{5}};
  layers.layers = {embed, head};
  layers.modules = {{"", "", {}}};
  return layers;
}

TEST_CASE("parameters whose shape nobody knows: none of them, or wider ones") {
  Layers layers = Model();
  CHECK(!OtherShapesInstead(layers).has_value());
  layers.guesses.assumed_shapes = {"head.weight"};
  const auto reading = OtherShapesInstead(layers);
  REQUIRE(reading.has_value());
  CHECK(reading->code == "unread-shapes");
  CHECK(reading->layers.parameters == std::vector<ValueId>{ValueId{1}});
  REQUIRE(reading->also.has_value());
  CHECK((*reading->also)[ValueId{2}].shape == Shape{Dim(200), Dim(64)});
  CHECK((*reading->also)[ValueId{1}].shape == Shape{Dim(100), Dim(64)});
}

TEST_CASE("a weight that may be tied: the embedding instead") {
  Layers layers = Model();
  CHECK(!TiedWeightsInstead(layers).has_value());
  layers.guesses.maybe_tied = {{"head.weight", "embed.weight"}};
  const auto reading = TiedWeightsInstead(layers);
  REQUIRE(reading.has_value());
  CHECK(reading->code == "tie-guessed");
  CHECK(reading->layers.layers[1].inputs[1] == ValueId{1});
  CHECK(reading->layers.parameters == std::vector<ValueId>{ValueId{1}});
}

TEST_CASE("a weight that lost its name: a product instead, in front of who reads it") {
  Layers layers = Model();
  CHECK(!ComputedWeightsInstead(layers).has_value());
  layers.layers[1].attributes.Set("computed_weight", int64_t{1});
  const auto reading = ComputedWeightsInstead(layers);
  REQUIRE(reading.has_value());
  const Layers& other = reading->layers;
  REQUIRE(other.layers.size() == 3);
  CHECK(other.layers[1].op == "mul");
  CHECK(other.layers[1].inputs[0] == ValueId{2});
  CHECK(other[other.layers[1].inputs[1]].role == Role::kBuffer);
  CHECK(other.layers[2].inputs[1] == other.layers[1].outputs[0]);
  CHECK(other.buffers.size() == 2);
  REQUIRE(reading->also.has_value());  // made for the call alone
  CHECK(reading->also->layers[1].op == "mul");
  CHECK(reading->also->outputs == layers.outputs);
  CHECK(reading->also->parameters == layers.parameters);

  // F.conv1d(x, torch.eye(n)) stands in the forward of what has modules.
  const ModuleId caller = ModuleId::At(layers.modules.size());
  layers.modules.push_back({.path = "net"});
  layers.modules.push_back({.path = "net.stem", .parent = caller});
  layers.layers[1].module = caller;
  const auto of_function = ComputedWeightsInstead(layers);
  REQUIRE(of_function.has_value());
  REQUIRE(of_function->also.has_value());
  CHECK(of_function->also->parameters == std::vector<ValueId>{ValueId{1}});
  REQUIRE(of_function->also->layers.size() == 3);
  CHECK(of_function->also->layers[1].op == "full");
  CHECK(of_function->also->layers[2].inputs[1] == of_function->also->layers[1].outputs[0]);
}

TEST_CASE("stored tensors: those that no module calls weight may be buffers, nameless buffers may be parameters") {
  CHECK(!BuffersInstead(Model()).has_value());
  CHECK(!BuffersInstead(Model("head.offset")).has_value());  // a projection's weight, whatever it is called
  const auto convolved = [](const char* name) {
    Layers layers = Model(name);
    layers.layers[1].op = "conv1d";
    return layers;
  };
  CHECK(BuffersInstead(convolved("resample.kernel")).has_value());  // may be fixed
  CHECK(!BuffersInstead(convolved("stem.weight")).has_value());
  CHECK(!BuffersInstead(convolved("onnx::Conv_7")).has_value());  // folded
  const auto added = [](const char* name) {
    Layers layers = Model(name);
    layers.layers[1].op = "add";
    return layers;
  };
  const auto buffers = BuffersInstead(added("head.offset"));
  REQUIRE(buffers.has_value());
  CHECK(buffers->layers[ValueId{2}].role == Role::kBuffer);
  CHECK(buffers->settle == "--frozen 'head.offset'");
  CHECK(BuffersInstead(added("mem_bias")).has_value());  // no module of torch.nn calls it so
  for (const char* noise : {"fc.weight_epsilon", "fc.bias_epsilon", "fc.weight_mask"})
    CHECK(BuffersInstead(added(noise)).has_value());
  for (const char* trained : {"fc.parametrizations.weight.original0", "fc.weight_v", "fc.weight_orig",
                              "rnn.weight_ih_l0", "rnn.bias_hh_l1", "attn.in_proj_weight"})
    CHECK(!BuffersInstead(added(trained)).has_value());
  CHECK(!BuffersInstead(added("attn.in_proj_bias")).has_value());
  Layers biased = added("attn.bias");
  CHECK(!BuffersInstead(biased).has_value());
  biased.values[2].shape = Shape{1, 4, 16, 16};  // of a mask or of distances, as in ALiBi: no module's
  CHECK(BuffersInstead(biased).has_value());
  const auto parameters = ParametersInstead(Model());
  REQUIRE(parameters.has_value());
  CHECK(parameters->layers.parameters.size() == 3);
  CHECK(parameters->layers[ValueId{3}].role == Role::kParameter);
  Layers named = Model();
  named.values[3].name = "attn.mask";
  CHECK(!ParametersInstead(named).has_value());
}

TEST_CASE("a table of positions may be of sinusoids; a table of words is learned") {
  Layers layers = Model();
  CHECK(!SinusoidsInstead(layers).has_value());
  layers.values[0].role = Role::kBuffer;  // position_ids
  const auto reading = SinusoidsInstead(layers);
  REQUIRE(reading.has_value());
  CHECK(reading->layers[ValueId{1}].role == Role::kBuffer);
  CHECK(reading->layers[ValueId{2}].role == Role::kParameter);
}

TEST_CASE("a head with an embedding's table: F.linear, or a product with its transpose") {
  Layers layers = Model();
  CHECK(!HeadsByHandInstead(layers));  // its own weight
  layers.layers[1].inputs[1] = ValueId{1};
  const auto by_hand = HeadsByHandInstead(layers);
  REQUIRE(by_hand.has_value());
  REQUIRE(by_hand->layers.layers.size() == 3);
  const Layer &turn = by_hand->layers.layers[1], &product = by_hand->layers.layers[2];
  CHECK(turn.op == "transpose");
  CHECK(turn.inputs == std::vector<ValueId>{ValueId{1}});
  CHECK(by_hand->layers[turn.outputs[0]].shape == Shape{64, 100});
  CHECK(product.op == "matmul");
  CHECK(product.inputs == std::vector<ValueId>{ValueId{4}, turn.outputs[0]});
  Layers maybe = Model();
  maybe.guesses.maybe_tied = {{"head.weight", "embed.weight"}};
  CHECK(HeadsByHandInstead(maybe).has_value());
  Layers cell = Model();  // that runs twice
  cell.layers.push_back(cell.layers[1]);
  const auto products = HeadsByHandInstead(cell);
  REQUIRE(products.has_value());
  CHECK(products->layers.layers.size() == 5);
  layers.layers[1].evidence = Evidence::kProvenance;
  CHECK(!HeadsByHandInstead(layers));
}

}  // namespace
}  // namespace vramplan
