#include "planner/spec/copies.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "graph/layers/trained.h"

namespace vramplan {
namespace {

using Parameters = std::vector<std::pair<std::string, Shape>>;

// The patterns that freeze the copies of such a model, "" where it has none.
std::string FrozenOf(const Parameters& parameters) {
  Layers layers;
  for (const auto& [name, shape] : parameters) {
    layers.parameters.push_back(ValueId{static_cast<int32_t>(layers.values.size())});
    layers.values.push_back({.name = name, .type = DType::kFloat32, .shape = shape, .role = Role::kParameter});
  }
  const std::optional<Copies> copies = FindCopies(layers);
  return copies ? ToString(copies->patterns) : "";
}

TEST_CASE("a copy of a network is known by its name and its twin together") {
  CHECK(FrozenOf({{"student.0.weight", {8, 4}}, {"teacher.0.weight", {8, 4}}}) == "--frozen 'teacher.*'");
  CHECK(FrozenOf({{"m.encoder_q.w", {8}}, {"m.encoder_k.w", {8}}}) == "--frozen 'm.encoder_k.*'");
  CHECK(FrozenOf({{"text.w", {8}}, {"text_m.w", {8}}, {"image.w", {4}}, {"image_m.w", {4}}}) ==
        "--frozen 'image_m.*' --frozen 'text_m.*'");
  // the first may have more: a predictor
  CHECK(FrozenOf({{"online_encoder.w", {8}}, {"online_encoder.head.w", {2}}, {"target_encoder.w", {8}}}) ==
        "--frozen 'target_encoder.*'");
  // the dynamo exporter leaves the shape of a parameter out that it merged
  CHECK(FrozenOf({{"student.0.weight", {8, 4}}, {"teacher.0.weight", {0}}}) == "--frozen 'teacher.*'");
}

TEST_CASE("the head of a teacher is frozen with it") {
  Layers layers;
  const auto add = [&](const std::string& name, Role role) {
    return layers.Add({.name = name, .type = DType::kFloat32, .shape = Shape{8, 8}, .role = role});
  };
  const ValueId x = add("x", Role::kInput);
  std::vector<ValueId> ends;
  for (const auto& [body, head] : {std::pair{"student", "hs"}, std::pair{"teacher", "ht"}}) {
    ValueId h = x;
    for (const std::string& name : {std::string(body) + ".0", std::string(body) + ".1", std::string(head) + ".0"}) {
      const ValueId weight = add(name + ".weight", Role::kParameter), bias = add(name + ".bias", Role::kParameter);
      layers.parameters.insert(layers.parameters.end(), {weight, bias});
      const ValueId made = add("of " + name, Role::kActivation);
      layers.layers.push_back({.op = "linear", .name = name, .inputs = {h, weight, bias}, .outputs = {made}});
      h = made;
    }
    ends.push_back(h);
  }
  layers.layers.push_back({.op = "sub", .name = "loss", .inputs = ends, .outputs = {add("loss", Role::kActivation)}});
  const std::optional<Copies> copies = FindCopies(layers);
  REQUIRE(copies.has_value());
  CHECK(ToString(copies->patterns) == "--frozen 'teacher.*' --frozen 'ht.*'");
}

TEST_CASE("a name without its twin is no copy, nor is a twin without such a name") {
  CHECK(FrozenOf({{"student.0.weight", {8, 4}}, {"teacher.0.weight", {16, 4}}}).empty());
  CHECK(FrozenOf({{"teacher.0.weight", {8, 4}}, {"head.weight", {8, 4}}}).empty());
  CHECK(FrozenOf({{"fc_m.weight", {8, 4}}, {"fc_v.weight", {8, 4}}}).empty());  // a mean and a variance
  CHECK(FrozenOf({{"layer1.w", {8}}, {"layer2.w", {8}}}).empty());
}

TEST_CASE("a copy may run without gradient, with what it alone is given and what is made of its results") {
  // critic(encoder(x)) - (reward + critic_target(encoder(next)))
  Layers layers;
  const auto add = [&](const std::string& name, Role role) {
    return layers.Add({.name = name, .type = DType::kFloat32, .shape = Shape{8, 8}, .role = role});
  };
  const auto parameter = [&](const std::string& name) {
    layers.parameters.push_back(add(name, Role::kParameter));
    return layers.parameters.back();
  };
  const auto call = [&](const char* op, std::vector<ValueId> inputs) {
    const ValueId made = add(op, Role::kActivation);
    layers.layers.push_back({.op = op, .name = op, .inputs = std::move(inputs), .outputs = {made}});
    return made;
  };
  const ValueId x = add("x", Role::kInput), next = add("next", Role::kInput), reward = add("reward", Role::kInput);
  const ValueId encoder = parameter("encoder.weight"), critic = parameter("critic.weight"),
                target = parameter("critic_target.weight");
  const ValueId now = call("linear", {x, encoder}), later = call("linear", {next, encoder});
  const ValueId wanted = call("add", {call("linear", {later, target}), reward});
  layers.outputs = {call("sub", {call("linear", {now, critic}), wanted})};
  const std::optional<Copies> copies = FindCopies(layers);
  REQUIRE(copies.has_value());
  CHECK(!WithoutGradient(layers, *copies));  // it is trained
  SetTrained(&layers, target, false);
  const std::optional<Layers> other = WithoutGradient(layers, *copies);
  REQUIRE(other.has_value());
  std::string marks;
  for (const Layer& layer : other->layers) marks += layer.attributes.Int("no_grad", 0) != 0 ? '1' : '0';
  CHECK(marks == "011100");  // encoder(x); encoder(next), its value, the sum; critic and the difference
}

}  // namespace
}  // namespace vramplan
