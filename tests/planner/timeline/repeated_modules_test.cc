#include "planner/timeline/repeated_modules.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace vramplan {
namespace {

using Paths = std::vector<std::string>;

// Each module call with its caller (an index; 0: the root) and how many layers run directly in it.
struct Called {
  std::string path;
  int32_t around = 0;
  int layers = 0;
};
Paths Repeated(const std::vector<Called>& calls) {
  Layers layers;
  layers.modules = {{.path = "", .class_name = "", .parent = {}}};
  for (size_t c = 0; c < calls.size(); ++c) {
    layers.modules.push_back({.path = calls[c].path, .class_name = "", .parent = ModuleId{calls[c].around}});
    for (int l = 0; l < calls[c].layers; ++l) {
      Layer layer;
      layer.op = "relu";
      layer.module = ModuleId{static_cast<int32_t>(c) + 1};
      layers.layers.push_back(std::move(layer));
    }
  }
  return RepeatedModules(layers);
}

TEST_CASE("blocks of a list, the outer ones alone") {
  CHECK(Repeated({{"stem", 0, 9}, {"blocks.0", 0, 5}, {"blocks.1", 0, 5}, {"head", 0, 9}}) ==
        Paths{"blocks.0", "blocks.1"});
  CHECK(Repeated({{"blocks.0", 0, 1}, {"blocks.0.mlp", 1, 5}, {"blocks.1", 0, 1}, {"blocks.1.mlp", 3, 5}}) ==
        Paths{"blocks.0", "blocks.1"});
  CHECK(Repeated({{"down.0.res", 0, 5}, {"down.1.res", 0, 5}, {"mid", 0, 5}}) == Paths{"down.0.res", "down.1.res"});
}

TEST_CASE("a module that is called twice is one, small ones and single ones are none") {
  CHECK(Repeated({{"blocks.0", 0, 5}, {"blocks.0", 0, 5}}).empty());
  CHECK(Repeated({{"net.0", 0, 1}, {"net.1", 0, 1}, {"net.2", 0, 1}}).empty());
  CHECK(Repeated({{"blocks.0", 0, 5}, {"heads.0", 0, 5}}).empty());
  CHECK(Repeated({{"a", 0, 5}, {"b", 0, 5}}).empty());
}

}  // namespace
}  // namespace vramplan
