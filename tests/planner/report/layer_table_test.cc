#include "planner/report/parts/layer_table.h"

#include <doctest/doctest.h>

#include "tests/support/timelines.h"

namespace vramplan {
namespace {

// x [B, 4] -> fc1 -> h [B, 8] -> fc2 -> y [B, 2]; one parameter that nobody uses.
Layers TwoLinears() {
  Layers layers;
  layers.values = {{"x", DType::kFloat32, {Dim::Batch(), 4}, Role::kInput},
                   {"fc1.weight", DType::kFloat32, {8, 4}, Role::kParameter},
                   {"h", DType::kFloat32, {Dim::Batch(), 8}, Role::kActivation},
                   {"fc2.weight", DType::kFloat32, {2, 8}, Role::kParameter},
                   {"y", DType::kFloat32, {Dim::Batch(), 2}, Role::kActivation},
                   {"unused", DType::kFloat32, {3}, Role::kParameter}};
  layers.modules = {{"", "", {}}, {"fc1", "", {0}}};
  layers.parameters = {{1}, {3}, {5}};
  Layer fc1, fc2;
  fc1.op = fc2.op = "linear";
  fc1.name = "fc1/Gemm";
  fc2.name = "fc2/Gemm";
  fc1.module = {1};
  fc1.inputs = {{0}, {1}};
  fc1.outputs = {{2}};
  fc2.inputs = {{2}, {3}};
  fc2.outputs = {{4}};
  layers.layers = {fc1, fc2};
  return layers;
}

// Momentum SGD on two parameters with gradients; the loss asks from no layer.
constexpr const char* kLayerTableStep =
    "setup + 0 parameters 128\n"
    "setup + 1 parameters 64\n"
    "setup + 2 parameters 12\n"
    "forward + 3 activations 32*B @0\n"
    "forward + 4 temporaries 100*B @1\n"
    "forward + 5 activations 8*B @1\n"
    "forward - 4\n"
    "forward + 6 activations 4\n"
    "forward |\n"
    "backward + 7 temporaries 64 @1\n"
    "backward > 7 gradients\n"
    "backward + 8 temporaries 32*B @1\n"
    "backward + 9 temporaries 128 @0\n"
    "backward > 9 gradients\n"
    "backward - 8\n"
    "backward - 3\n"
    "backward |\n"
    "update + 10 optimizer_state 128 @0\n"
    "update + 11 optimizer_state 64 @1\n"
    "update |\n";

TEST_CASE("what each layer costs, read off the timeline") {
  const std::vector<LayerRow> rows = LayerTable(TimelineText(kLayerTableStep), TwoLinears(), TrainingSpec(), 10);
  const auto bytes = [](int64_t n) { return Bytes::Of(n); };
  const std::vector<LayerRow> expected = {
      {"fc1/Gemm", "linear", "fc1", bytes(128), bytes(0), bytes(320), bytes(320), bytes(128), bytes(128), bytes(128)},
      {"fc2/Gemm", "linear", "", bytes(64), bytes(0), bytes(80), bytes(80), bytes(64), bytes(64), bytes(1000)},
      {"(outside layers)", "", "", bytes(12), bytes(0), bytes(4), bytes(0), bytes(0), bytes(0), bytes(0)},
  };
  REQUIRE_EQ(rows.size(), expected.size());
  for (size_t i = 0; i < rows.size(); ++i) {
    CAPTURE(rows[i].name);
    CHECK(rows[i] == expected[i]);
  }
}

TEST_CASE("floating values are as wide as the precision; the state of a half model is half as wide") {
  TrainingSpec spec;
  spec.precision = Precision::kBf16;
  const std::vector<LayerRow> rows = LayerTable(Timeline(), TwoLinears(), spec, 10);
  CHECK_EQ(rows[0].parameters, Bytes::Of(64));
  CHECK_EQ(rows[0].output, Bytes::Of(160));
}

TEST_CASE("the printed table shows the biggest layers, sums up the others, and its sum is everything") {
  const std::vector<LayerRow> rows = LayerTable(TimelineText(kLayerTableStep), TwoLinears(), TrainingSpec(), 10);
  CHECK_EQ(PrintLayers(rows, Mode::kTrain, 1, Style{.width = 100, .unicode = false}),
           "  biggest layers  op      states  saved  temporary\n"
           "  fc1             linear   384 B  320 B      128 B\n"
           "  2 others                 204 B   84 B\n"
           "  --------------  ------  ------  -----  ---------\n"
           "  sum                      588 B  404 B\n");
}

}  // namespace
}  // namespace vramplan
