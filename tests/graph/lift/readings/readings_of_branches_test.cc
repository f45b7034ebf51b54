#include "graph/lift/readings/readings_of_branches.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/layers_by_hand.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

// A model of train() whose layers that make `names` are of module `path`.
Layers Model(const std::string& outputs, const std::string& nodes, const std::vector<std::string>& names,
             const std::string& path) {
  Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x) => ()" +
                                  outputs + R"() <float[8, 8] w, float[8, 8] v> {
      h = Tanh (x)
)" + nodes + "}");
  layers.exported = ExportedMode::kTraining;
  layers.modules.push_back({path, "", ModuleId{0}});
  for (Layer& layer : layers.layers) {
    for (const std::string& name : names) {
      if (layers[layer.outputs[0]].name == name) layer.module = ModuleId::At(layers.modules.size() - 1);
    }
  }
  return layers;
}

Lines Without(const Layers& layers) {
  const std::optional<Reading> reading = WithoutBranchesOfTraining(layers);
  return reading ? testing::LinesOf(reading->layers) : Lines{};
}

TEST_CASE("a head that is added to the result in training, and goes with whatever reads it alone") {
  const std::string sum = "m = Sin (h)\n a = Cos (h)\n s = Exp (a)\n y = Add (m, s)\n";
  const Lines lines = Without(Model("float[batch, 8] y", sum, {"a"}, "m.aux_head"));
  CHECK(lines == Lines{"tanh(x) -> [B, 8]", "sin(h) -> [B, 8]"});
  CHECK(Without(Model("float[batch, 8] y", sum, {"a"}, "m.maux")).empty());
  // What is joined is something else without it.
  CHECK(Without(Model("float[batch, 16] y", "m = Sin (h)\n a = Cos (h)\n y = Concat <axis=1> (m, a)\n", {"a"}, "aux"))
            .empty());
  Layers of_eval = Model("float[batch, 8] y", sum, {"a"}, "m.aux_head");
  of_eval.exported = ExportedMode::kEvaluation;
  CHECK(Without(of_eval).empty());
}

TEST_CASE("further results that weights of their own make") {
  const std::string heads = "y = MatMul (h, w)\n z = MatMul (h, v)\n";
  const Lines lines = Without(Model("float[batch, 8] y, float[batch, 8] z", heads, {}, "head"));
  REQUIRE(lines.size() == 2);
  CHECK(lines[1].starts_with("matmul(h, w)"));
  CHECK(Without(Model("float[batch, 8] y, float[batch, 8] h", "y = MatMul (h, w)\n", {}, "head")).empty());
}

TEST_CASE("a loss that the model returns in training") {
  Layers layers = Model("float y", "a = Sin (h)\n y = ReduceMean <keepdims=0> (a)\n", {}, "head");
  const std::optional<Reading> reading = WithoutLoss(layers);
  REQUIRE(reading.has_value());
  CHECK(testing::LinesOf(reading->layers) == Lines{"tanh(x) -> [B, 8]"});
  layers.exported = ExportedMode::kEvaluation;
  CHECK_FALSE(WithoutLoss(layers).has_value());
  CHECK_FALSE(WithoutLoss(Model("float[batch, 8] y", "y = Sin (h)\n", {}, "head")).has_value());
}

TEST_CASE("only what evaluates asks") {
  const Layers layers = Model("float[batch, 8] y", "m = Sin (h)\n a = Cos (h)\n y = Add (m, a)\n", {"a"}, "aux");
  const auto asks = [&](const ReadFor& step) {
    for (const Reading& reading : OtherReadings(layers, step)) {
      if (reading.code == "train-only-branches") return true;
    }
    return false;
  };
  CHECK(asks({false, false, true}));
  CHECK_FALSE(asks({true, false, false}));
}

}  // namespace
}  // namespace vramplan
