#include "graph/lift/readings/readings_of_noise.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

Layers File(const std::string& stored, const std::string& nodes) {
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 4] x) => (float[batch, 8] y) <)" +
                         stored + "> {\n" + nodes + "}");
}

// NoisyLinear of 4 by 8, as train() runs it and as eval() does.
Layers OfTraining() {
  return File(
      "float[8, 4] `fc.weight_mu`, float[8, 4] `fc.weight_sigma`, float[8, 4] `fc.weight_epsilon`, float[8] `fc.bias`",
      R"(n = Mul (`fc.weight_sigma`, `fc.weight_epsilon`)
      w = Add (`fc.weight_mu`, n)
      y = Gemm <transB = 1> (x, w, `fc.bias`)
)");
}
Layers OfEvaluation() {
  Layers layers = File("float[8, 4] `fc.weight_mu`, float[8] `fc.bias_mu`",
                       "y = Gemm <transB = 1> (x, `fc.weight_mu`, `fc.bias_mu`)\n");
  layers.exported = ExportedMode::kEvaluation;
  return layers;
}

std::vector<std::string> NamesOf(const Layers& layers, const std::vector<ValueId>& ids) {
  std::vector<std::string> names;
  for (const ValueId id : ids) names.push_back(layers[id].name);
  return names;
}

TEST_CASE("an export of train() with noise on a weight: eval() may read the mean alone") {
  const Layers layers = OfTraining();
  const std::optional<Reading> without = WithoutNoiseInstead(layers);
  REQUIRE(without);
  CHECK(without->text == "assumed: eval() adds to fc.weight_mu what the export adds");
  REQUIRE(without->layers.layers.size() == 1);
  const Layer& linear = without->layers.layers[0];
  CHECK(layers[linear.inputs[1]].name == "fc.weight_mu");
  CHECK(without->layers.parameters == layers.parameters);  // what eval() does not read is there all the same
  Layers of_eval = layers;
  of_eval.exported = ExportedMode::kEvaluation;
  CHECK(!WithoutNoiseInstead(of_eval));
  CHECK(!NoiseInstead(layers));  // the file has the noise
  CHECK(!WithoutNoiseInstead(File("float[8, 4] `fc.a`, float[8, 4] `fc.b`", R"(w = Mul (`fc.a`, `fc.b`)
      y = Gemm <transB = 1> (x, w)
)")));
}

TEST_CASE("an export of eval() that has means: train() adds noise, which evaluation holds, too") {
  const Layers layers = OfEvaluation();
  const std::optional<Reading> noise = NoiseInstead(layers), held = UnreadNoiseInstead(layers);
  REQUIRE(noise);
  REQUIRE(held);
  CHECK(testing::LinesOf(held->layers) == testing::LinesOf(layers));
  for (const Reading* reading : {&*noise, &*held}) {
    const std::vector<std::string> parameters = NamesOf(reading->layers, reading->layers.parameters);
    CHECK(std::ranges::find(parameters, "fc.weight_sigma") != parameters.end());
    CHECK(std::ranges::find(parameters, "fc.bias_sigma") != parameters.end());
    CHECK(NamesOf(reading->layers, reading->layers.buffers) == Lines{"fc.weight_epsilon", "fc.bias_epsilon"});
  }
  REQUIRE(noise->layers.layers.size() == 5);
  std::string operators;
  for (const Layer& layer : noise->layers.layers) operators += layer.op + " ";
  CHECK(operators == "mul add mul add linear ");
  const Layer& linear = noise->layers.layers[4];
  CHECK(linear.inputs[1] == noise->layers.layers[1].outputs[0]);
  CHECK(linear.inputs[2] == noise->layers.layers[3].outputs[0]);
  CHECK(!NoiseInstead(File("float[8, 4] `fc.weight`", "y = Gemm <transB = 1> (x, `fc.weight`)\n")));
}

}  // namespace
}  // namespace vramplan
