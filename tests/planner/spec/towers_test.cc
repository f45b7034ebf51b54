#include "planner/spec/towers.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

// Two networks of two linear layers each on `x` and `y`, and a difference of their results.
struct TwoNetworks {
  Layers layers;

  ValueId Add(const std::string& name, Role role, Shape shape = {}) {
    return layers.Add({.name = name, .type = DType::kFloat32, .shape = shape, .role = role});
  }
  ValueId Parameter(const std::string& name, Shape shape) {
    layers.parameters.push_back(Add(name, Role::kParameter, shape));
    return layers.parameters.back();
  }
  ValueId Call(const std::string& op, std::vector<ValueId> inputs) {
    const ValueId made = Add(op + std::to_string(layers.layers.size()), Role::kActivation, {8, 4});
    layers.layers.push_back({.op = op, .name = layers[made].name, .inputs = std::move(inputs), .outputs = {made}});
    return made;
  }
  ValueId Network(const std::string& name, ValueId x, int64_t width) {
    for (int i = 0; i < 2; ++i) {
      const std::string layer = name + "." + std::to_string(i);
      x = Call("linear", {x, Parameter(layer + ".weight", {width, width}), Parameter(layer + ".bias", {width})});
    }
    return x;
  }
  std::vector<std::string> Firsts() const {
    std::vector<std::string> firsts;
    for (const Tower& tower : FindTowers(layers)) firsts.push_back(tower.first);
    return firsts;
  }
};

TEST_CASE("networks that read the same input and meet in the loss are towers") {
  TwoNetworks two;
  const ValueId x = two.Add("x", Role::kInput, {8, 4});
  const ValueId scaled = two.Call("mul", {x});
  two.Call("sub", {two.Network("student", scaled, 4), two.Network("teacher", x, 6)});
  CHECK(two.Firsts() == std::vector<std::string>{"student.0.weight", "teacher.0.weight"});
}

TEST_CASE("a tower of two children is frozen by the names of both, and by no name of another") {
  TwoNetworks two;
  const ValueId x = two.Add("x", Role::kInput, {8, 4});
  const ValueId first = two.Network("m.hs", two.Network("m.student", x, 4), 4);
  const ValueId second = two.Network("m.ht", two.Network("m.mean", x, 4), 4);
  two.Call("sub", {first, second});
  const std::vector<Tower> towers = FindTowers(two.layers);
  REQUIRE(towers.size() == 2);
  CHECK(ToString(FrozenPatterns(towers[1], two.layers)) == "--frozen 'm.ht.*' --frozen 'm.mean.*'");
}

TEST_CASE("networks of the same form are towers, whatever they read") {
  TwoNetworks two;
  const ValueId x = two.Add("x", Role::kInput, {8, 4}), y = two.Add("y", Role::kInput, {8, 4});
  two.Call("sub", {two.Network("q", x, 4), two.Network("k", y, 4)});
  CHECK(two.Firsts().size() == 2);
}

TEST_CASE("a text and an image encoder are no towers, nor is a network that a weight follows") {
  TwoNetworks clip;
  const ValueId x = clip.Add("x", Role::kInput, {8, 4}), y = clip.Add("y", Role::kInput, {8, 4});
  clip.Call("sub", {clip.Network("image", x, 4), clip.Network("text", y, 6)});
  CHECK(clip.Firsts().empty());
  TwoNetworks fused;
  const ValueId z = fused.Add("z", Role::kInput, {8, 4});
  const ValueId both = fused.Call("add", {fused.Network("a", z, 4), fused.Network("b", z, 4)});
  fused.Network("head", both, 4);
  CHECK(fused.Firsts().empty());
}

}  // namespace
}  // namespace vramplan
