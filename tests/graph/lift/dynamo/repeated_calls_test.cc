#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "graph/lift/dynamo/passes.h"

namespace vramplan {
namespace {

// A layer for each module path and operator; `weights`: linears read one.
Layers Run(const std::vector<std::pair<std::string, std::string>>& steps, bool weights) {
  Layers layers;
  layers.modules = {{"", "", {}}, {"group", "", ModuleId{0}}, {"group.layer", "", ModuleId{1}}};
  layers.values = {{"w", DType::kFloat32, Shape{Dim(4), Dim(4)}, Role::kParameter}};
  for (const auto& [path, op] : steps) {
    Layer layer;
    layer.op = op;
    layer.module = path.empty() ? ModuleId{} : ModuleId{path == "group" ? 1 : 2};
    if (weights && op == "linear") layer.inputs = {ValueId{0}};
    layers.layers.push_back(layer);
  }
  return layers;
}

// By layer the number of its module call, counted as they come.
std::string CallsOf(Layers layers) {
  SplitRepeatedCalls(&layers);
  std::string text;
  for (const Layer& layer : layers.layers) text += std::to_string(layer.module.value) + " ";
  return text;
}

TEST_CASE("calls of one module behind each other are as many as its layers repeat themselves") {
  const std::vector<std::pair<std::string, std::string>> twice = {
      {"group.layer", "linear"}, {"group.layer", "relu"}, {"group.layer", "linear"}, {"group.layer", "relu"}};
  Layers layers = Run(twice, true);
  SplitRepeatedCalls(&layers);
  REQUIRE(layers.modules.size() == 5);  // the group that calls nothing else was called twice, too
  const ModuleId first = layers.layers[1].module, second = layers.layers[2].module;
  CHECK(first != second);
  CHECK(layers.layers[3].module == second);
  CHECK(layers[second].path == "group.layer");
  CHECK(layers[layers[second].parent].path == "group");
  CHECK(layers[second].parent != layers[first].parent);
  CHECK(layers[layers[second].parent].parent == ModuleId{0});
}

TEST_CASE("where the group does something else its layer alone was called again") {
  const std::vector<std::pair<std::string, std::string>> steps = {{"group", "abs"},        {"group.layer", "linear"},
                                                                  {"group.layer", "relu"}, {"group.layer", "linear"},
                                                                  {"group.layer", "relu"}, {"", "mean"}};
  CHECK(CallsOf(Run(steps, true)) == "1 2 2 3 3 -1 ");
}

TEST_CASE("what does not repeat itself, or is arithmetic, is one call") {
  CHECK(CallsOf(Run({{"group", "linear"}, {"group", "relu"}, {"group", "linear"}}, true)) == "1 1 1 ");
  CHECK(CallsOf(Run({{"group", "linear"}, {"group", "linear"}}, true)) == "1 1 ");
  CHECK(CallsOf(Run({{"group", "mul"}, {"group", "add"}, {"group", "mul"}, {"group", "add"}}, true)) == "1 1 1 1 ");
  CHECK(CallsOf(Run({{"", "linear"}, {"", "relu"}, {"", "linear"}, {"", "relu"}}, true)) == "-1 -1 -1 -1 ");
}

TEST_CASE("a loop over weights is one call, for each turn reads another") {
  Layers layers = Run(
      {{"group.layer", "linear"}, {"group.layer", "relu"}, {"group.layer", "linear"}, {"group.layer", "relu"}}, true);
  layers.values.push_back({"w2", DType::kFloat32, Shape{Dim(4), Dim(4)}, Role::kParameter});
  layers.layers[2].inputs = {ValueId{1}};
  CHECK(CallsOf(layers) == "2 2 2 2 ");
}

}  // namespace
}  // namespace vramplan
