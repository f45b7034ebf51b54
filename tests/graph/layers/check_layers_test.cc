#include "graph/layers/check_layers.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "tests/support/development.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

const Shape kRows{Dim::Batch(), 8};

Layers Good() {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kRows), w = hand.Parameter("w", {8, 8});
  const ValueId y = hand.Add("linear", {x, w, {}}, kRows);
  hand.layers.outputs = {hand.Add("relu", {y}, kRows)};
  return hand.layers;
}

TEST_CASE("layers: each broken invariant is said with the layer that breaks it") {
  CHECK(BrokenInvariant(Good()) == "");
  struct Case {
    std::function<void(Layers&)> breaks;
    const char* said;
  };
  const std::vector<Case> cases = {
      {[](Layers& l) { std::swap(l.layers[0], l.layers[1]); },
       "relu3 (relu) reads value 2 (linear), which linear2 (linear) makes later"},
      {[](Layers& l) { l.layers[1].inputs = {ValueId{9}}; }, "relu3 (relu) reads no value that there is"},
      {[](Layers& l) { l.layers[1].outputs = l.layers[0].outputs; },
       "relu3 (relu) makes value 2 (linear), which linear2 (linear) has made"},
      {[](Layers& l) { l.values[2].role = Role::kBuffer; }, "linear2 (linear) makes value 2 (linear), no activation"},
      {[](Layers& l) { l.layers[1].name = l.layers[0].name; }, "two layers are called linear2"},
      {[](Layers& l) { l.layers[1].module = ModuleId{2}; }, "relu3 (relu) is of no module call that there is"},
      {[](Layers& l) { l.modules[1].parent = ModuleId{1}; }, "the call of module m stands before the one around it"},
      {[](Layers& l) { l.checkpointed = {ModuleId{7}}; }, "no module call 7 is checkpointed"},
      {[](Layers& l) { l.parameters.push_back(l.parameters[0]); }, "value 1 (w) is listed twice as a parameter"},
      {[](Layers& l) { l.values[1].role = Role::kInput; }, "value 1 (w) is listed as a parameter and has another role"},
      {[](Layers& l) { l.outputs = {ValueId{12}}; }, "value 12 is returned, and nothing makes it"},
      {[](Layers& l) { l.layers.pop_back(); }, "value 3 (relu) is returned, and nothing makes it"},
  };
  for (const Case& one : cases) {
    Layers layers = Good();
    one.breaks(layers);
    CHECK(BrokenInvariant(layers) == one.said);
  }
}

TEST_CASE("layers: what the files of the tables become holds every invariant") {
  size_t files = 0;
  for (const testing::DevelopmentFile& file : testing::DevelopmentFiles()) {
    Result<Layers> layers = testing::LayersOf(file.path, "");
    if (!layers.ok()) layers = testing::LayersOf(file.path, "sequence=128");  // token models
    if (!layers.ok()) continue;
    CAPTURE(file.path);
    CHECK(BrokenInvariant(*layers) == "");
    ++files;
  }
  CHECK(files > 60);
}

}  // namespace
}  // namespace vramplan
