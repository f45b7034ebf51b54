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

TEST_CASE("stored tensors: those that no module calls weight may be buffers") {
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
}

}  // namespace
}  // namespace vramplan
