#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "planner/lifetimes/lifetimes.h"
#include "tests/support/truth.h"

namespace vramplan {
namespace {

Layers LayersOfFile(const std::string& file) {
  Result<Layers> layers = testing::LayersOf(std::string(VRAMPLAN_SOURCE_DIR) + "/" + file, "");
  REQUIRE(layers.ok());
  return *std::move(layers);
}

constexpr const char* kFiles[] = {"models/unet.onnx",
                                  "models/resnet50.onnx",
                                  "tests/data/zoo/densenet121.ts-train.onnx",
                                  "tests/data/zoo/fcn_resnet50.ts-train.onnx",
                                  "tests/data/zoo/googlenet.dynamo-train.onnx",
                                  "tests/data/zoo/deit_tiny.ts-train.onnx"};

TEST_CASE("rules only lengthen lives: their order does not matter") {
  const std::vector<HoldRule> rules = HoldRules();
  // Those between the readers and what the file itself says.
  const auto first_fact = std::find_if(rules.begin(), rules.end(),
                                       [](const HoldRule& rule) { return std::string(rule.name) == "source-lines"; });
  std::vector<size_t> order(static_cast<size_t>(first_fact - rules.begin()) - 1);
  REQUIRE(order.size() > 4);
  std::mt19937 random(20261123);
  for (const char* file : kFiles) {
    CAPTURE(file);
    const Layers layers = LayersOfFile(file);
    const Releases as_they_stand = ReleasesAfter(layers);
    std::iota(order.begin(), order.end(), size_t{0});
    CHECK(ReleasesInOrder(layers, order) == as_they_stand);
    for (int round = 0; round < 5; ++round) {
      std::shuffle(order.begin(), order.end(), random);
      CHECK(ReleasesInOrder(layers, order) == as_they_stand);
    }
  }
}

TEST_CASE("what is held stands with its rule, and agrees with what is let go") {
  std::set<std::string> names, used;
  for (const HoldRule& rule : HoldRules()) names.insert(rule.name);
  for (const char* file : kFiles) {
    CAPTURE(file);
    const Layers layers = LayersOfFile(file);
    const Releases releases = ReleasesAfter(layers);
    size_t released = 0, returned = 0;
    for (const Held& held : HoldsOf(layers)) {
      CHECK(names.contains(held.rule));
      used.insert(held.rule);
      returned += held.until < 0 ? 1 : 0;
      if (held.until < 0) continue;
      const std::vector<ValueId>& after = releases[static_cast<size_t>(held.until)];
      CHECK(std::find(after.begin(), after.end(), held.value) != after.end());
      ++released;
    }
    size_t all = 0;
    for (const std::vector<ValueId>& after : releases) all += after.size();
    CHECK(released == all);
    CHECK(returned >= 1);
  }
  // A network of each kind is among the files.
  for (const char* rule : {"read", "joined", "parts", "returned"}) CHECK(used.contains(rule));
}

}  // namespace
}  // namespace vramplan
