#include "graph/lift/readings/readings.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/layers_by_hand.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

Layers Activation(const std::string& nodes) {
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x) => (float[batch, 8] y) {
      h = Neg (x)
)" + nodes + "\n y = Neg (a) }");
}

TEST_CASE("Sigmoid and Mul: one call, or written out") {
  const Layers layers = Activation("s = Sigmoid (h)\n a = Mul (h, s)");
  CHECK(testing::LinesOf(layers)[1] == "silu(h) -> [B, 8]");
  for (const bool with_gradients : {true, false}) {
    const std::vector<Reading> readings = OtherReadings(layers, {with_gradients, false});
    REQUIRE(readings.size() == 1);
    CHECK(readings[0].code == "activation-guessed");
    const Lines lines = testing::LinesOf(readings[0].layers);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1].starts_with("sigmoid(h)"));
    CHECK(lines[2].starts_with("mul(h, "));
    CHECK(readings[0].layers.layers[2].outputs == layers.layers[1].outputs);
  }
}

TEST_CASE("checkpoints under a condition: none, or all") {
  Layers layers = Activation("s = Sigmoid (h)\n a = Add (h, s)");
  layers.modules.push_back({"block", "", ModuleId{0}});
  layers.perhaps_checkpointed = {ModuleId{1}};
  CHECK(OtherReadings(layers, {false, false}).empty());
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "checkpoint-guessed");
  CHECK(readings[0].settle.starts_with("--checkpoint block"));
  CHECK(readings[0].layers.checkpointed == layers.perhaps_checkpointed);
}

TEST_CASE("Split, Sigmoid and Mul: F.glu, or a gate that is written out") {
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x) => (float[batch, 4] y) {
      h = Neg (x)
      p, q = Split <axis = 1> (h)
      s = Sigmoid (q)
      a = Mul (p, s)
      y = Neg (a)
    })");
  CHECK(testing::LinesOf(layers)[1] == "glu(h) -> [B, 4] dim=1");
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "activation-guessed");
  const Layers& other = readings[0].layers;
  REQUIRE(OperatorsOf(other) == "neg split sigmoid mul neg");
  const std::vector<ValueId>& halves = other.layers[1].outputs;
  REQUIRE(halves.size() == 2);
  CHECK(other[halves[1]].shape == layers[layers.layers[1].outputs[0]].shape);
  CHECK(other.layers[2].inputs == std::vector<ValueId>{halves[1]});
  CHECK(other.layers[3].inputs == std::vector<ValueId>{halves[0], other.layers[2].outputs[0]});
  CHECK(other.layers[3].outputs == layers.layers[1].outputs);
}

TEST_CASE("a file without doubts of this kind has one reading") {
  CHECK(OtherReadings(Activation("a = Relu (h)"), {true, false}).empty());
}

}  // namespace
}  // namespace vramplan
