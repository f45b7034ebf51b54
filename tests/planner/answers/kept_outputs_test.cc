#include "planner/answers/kept_outputs.h"

#include <doctest/doctest.h>

#include <string>

#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"

namespace vramplan::testing {
namespace {

// The assumption of this code in an answer; null: there is none.
Json AssumptionCalled(const std::string& code, const std::string& line) {
  const Result<Json> answer = ParseJson("answer", Do(line + " --format json").out);
  REQUIRE(answer.ok());
  for (const Json& one : std::get<Json::Items>(MemberOf(*answer, "assumptions")->value()))
    if (StringIn(MemberOf(one, "code")) == code) return one;
  return {};
}

int64_t BytesIn(const Json& assumption, const char* end) {
  return std::get<int64_t>(MemberOf(*MemberOf(assumption, "requested"), end)->value());
}

TEST_CASE("a named model says that the loop holds the loss alone, and what the logits take") {
  const Json held = AssumptionCalled("kept-outputs", "estimate gpt2 --batch 2 --dim sequence=64");
  CHECK_NE(StringIn(MemberOf(held, "text")).find("the loop holds the loss alone"), std::string::npos);
  CHECK_EQ(BytesIn(held, "low"), BytesIn(held, "likely"));
  CHECK_GT(BytesIn(held, "high"), BytesIn(held, "likely"));
  CHECK_LE(BytesIn(held, "high"), BytesIn(held, "likely") + 2 * 64 * 50257 * 4 + 512);
  for (const char* line : {"estimate gpt2 --batch 2 --mode infer", "estimate MODELS/mlp.onnx --batch 2"})
    CHECK(std::holds_alternative<std::nullptr_t>(AssumptionCalled("kept-outputs", line).value()));
}

// Its calls were recorded: nothing is guessed of them, and nobody need call vramplan.fit.
TEST_CASE("a named model assumes nothing of names") {
  CHECK(std::holds_alternative<std::nullptr_t>(AssumptionCalled("names", "estimate gpt2 --batch 2").value()));
  CHECK_EQ(Do("estimate gpt2 --batch 2 --format json").out.find("vramplan.fit("), std::string::npos);
}

// linear -> logits -> cast -> cross_entropy -> loss / 4, with the logits returned or not.
TEST_CASE("what is held is the loss alone, or the logits behind casts and views, too") {
  Layers layers;
  const auto add = [&](const char* name, const Shape& shape) {
    layers.values.push_back({name, DType::kFloat32, shape, Role::kActivation});
    return ValueId{static_cast<int32_t>(layers.values.size()) - 1};
  };
  const auto call = [&](const char* op, std::vector<ValueId> inputs, ValueId output) {
    Layer layer;
    layer.op = op;
    layer.inputs = std::move(inputs);
    layer.outputs = {output};
    layers.layers.push_back(std::move(layer));
  };
  const Shape many{Dim::Batch(), 8};
  const ValueId x = add("x", many), logits = add("logits", many), cast = add("cast", many), loss = add("loss", {}),
                share = add("share", {});
  call("linear", {x}, logits);
  call("to", {logits}, cast);
  call("cross_entropy", {cast}, loss);
  call("div", {loss}, share);
  layers.outputs = {share};
  layers.recorded = {{logits, cast}};
  CHECK_FALSE(HoldingTheLoss(layers));
  const std::optional<Layers> both = HoldingTheLogits(layers);
  REQUIRE(both);
  CHECK(both->outputs == std::vector{share, logits});
  CHECK(both->recorded == std::vector<RecordedEnd>{{logits, {}}});
  CHECK_FALSE(HoldingTheLogits(*both));
  CHECK(HoldingTheLoss(*both)->outputs == std::vector{share});
  layers.outputs = {logits};  // no loss
  CHECK_FALSE(HoldingTheLoss(layers));
  CHECK_FALSE(HoldingTheLogits(layers));
}

}  // namespace
}  // namespace vramplan::testing
