#include "graph/layers/form.h"

#include <doctest/doctest.h>

#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

const Shape kShape{Dim::Batch(), 8};

// The names that a form binds at the last layer; "-": it does not match.
std::string Bound(const Layers& layers, const char* text, const AcceptMatch& accept = {}) {
  const Uses uses(layers);
  const Form form(text);
  Match match;
  if (!form.Matches(LayerCalls(uses), static_cast<int32_t>(layers.layers.size()) - 1, &match, accept)) return "-";
  std::string bound;
  for (const auto& [name, value] : match.values)
    bound += (bound.empty() ? "" : " ") + std::string(name) + "=" + layers[ValueId{value}].name;
  return bound;
}

TEST_CASE("form: a call, its operands in either order where that is the same, and in one where it is not") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape), y = hand.Input("y", kShape);
  const ValueId gate = hand.Add("sigmoid", {x}, kShape);
  hand.layers.outputs = {hand.Add("mul", {gate, x}, kShape), hand.Add("sub", {gate, y}, kShape)};
  Layers mul = hand.layers;
  mul.layers.pop_back();
  CHECK(Bound(mul, "mul(x, sigmoid(x))") == "x=x");
  CHECK(Bound(mul, "mul(sigmoid(a), b)") == "a=x b=x");
  CHECK(Bound(mul, "mul(x, tanh(x))") == "-");
  CHECK(Bound(mul, "mul(x)") != "-");
  CHECK(Bound(hand.layers, "sub(sigmoid(a), b)") == "a=x b=y");
  CHECK(Bound(hand.layers, "sub(b, sigmoid(a))") == "-");
  CHECK(Bound(hand.layers, "sub(sigmoid(a), a)") == "-");
  CHECK(Bound(hand.layers, "add|sub(tanh|sigmoid(a))") == "a=x");
  CHECK(Bound(hand.layers, "sub(sig*(a), b)") == "a=x b=y");
  CHECK(Bound(hand.layers, "sub(s=sigmoid(_), _)") == "s=sigmoid");
}

TEST_CASE("form: where it failed, after the most had matched") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape), y = hand.Input("y", kShape);
  const ValueId gate = hand.Add("sigmoid", {x}, kShape);
  hand.layers.outputs = {hand.Add("mul", {gate, y}, kShape)};
  using Reason = Mismatch::Reason;
  struct Row {
    const char* form;
    Reason reason;
    size_t operand;
    const char* wanted;
  };
  const Row rows[] = {
      {"mul(tanh(a), y)", Reason::kOperator, 0, "tanh"},   {"mul(sigmoid(a), tanh(a))", Reason::kNoCall, 1, "tanh"},
      {"mul(sigmoid(a), a)", Reason::kOtherValue, 1, "a"}, {"mul(sigmoid(a), 0.5)", Reason::kNoNumber, 1, ""},
      {"mul(sigmoid(a), -)", Reason::kPresent, 1, ""},     {"mul(sigmoid(a), b, c)", Reason::kAbsent, 2, "c"},
  };
  const Uses uses(hand.layers);
  for (const Row& row : rows) {
    CAPTURE(row.form);
    const Form form(row.form);
    Match match;
    Mismatch mismatch;
    REQUIRE(!form.Matches(LayerCalls(uses), 1, &match, {}, &mismatch));
    CHECK(mismatch.reason == row.reason);
    CHECK(mismatch.operand == row.operand);
    CHECK(mismatch.wanted == row.wanted);
  }
  Match match;
  Mismatch mismatch;
  const Form form("mul(sigmoid(a), b)");
  CHECK(!form.Matches(
      LayerCalls(uses), 1, &match, [](const Match&) { return false; }, &mismatch));
  CHECK(mismatch.reason == Reason::kRefused);
}

TEST_CASE("form: numbers stand where no value does") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape);
  hand.layers.outputs = {hand.Add("add", {x, ValueId()}, kShape)};
  hand.attributes().Set("scalar", 0.5);
  CHECK(Bound(hand.layers, "add(x, 0.5)") == "x=x");
  CHECK(Bound(hand.layers, "add(0.5, x)") == "x=x");
  CHECK(Bound(hand.layers, "add(x, 0.51)") == "-");
  CHECK(Bound(hand.layers, "add(x, -)") == "x=x");
  CHECK(Bound(hand.layers, "add(x, #n)") == "x=x");
  CHECK(Bound(hand.layers, "add(x, y)") == "-");
  const Uses uses(hand.layers);
  const Form form("add(x, #n)");
  Match match;
  REQUIRE(form.Matches(LayerCalls(uses), 0, &match));
  CHECK(match.Number("n") == 0.5);
  CHECK(match.Value("n") == -1);
}

TEST_CASE("form: choices are tried in order, and anew when what comes later does not match") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape), y = hand.Input("y", kShape);
  const ValueId less = hand.Add("sub", {x, y}, kShape);
  hand.layers.outputs = {hand.Add("add", {less, x}, kShape)};
  CHECK(Bound(hand.layers, "add((sub(a, b) | c), a)") == "a=x b=y");
  CHECK(Bound(hand.layers, "add((sub(b, a) | c), a)") == "c=sub a=x");  // the sum turned: c is the other side
  CHECK(Bound(hand.layers, "add((mul(a) | a), b)") == "a=sub b=x");
  CHECK(Bound(hand.layers, "add(a, b)", [&](const Match& match) { return match.Value("a") == x.value; }) ==
        "a=x b=sub");
}

TEST_CASE("form: through views, and only what nobody else reads") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape);
  const ValueId half = hand.Add("exp", {x}, kShape), view = hand.Add("reshape", {half}, {Dim::Batch(), 2, 4});
  hand.layers.outputs = {hand.Add("neg", {view}, {Dim::Batch(), 2, 4})};
  CHECK(Bound(hand.layers, "neg(exp(x))") == "-");
  CHECK(Bound(hand.layers, "neg(~exp(x))") == "x=x");
  CHECK(Bound(hand.layers, "neg(!reshape(!exp(x)))") == "x=x");
  hand.layers.outputs.push_back(half);
  CHECK(Bound(hand.layers, "neg(!reshape(!exp(x)))") == "-");
  CHECK(Bound(hand.layers, "neg(!reshape(exp(x)))") == "x=x");
}

TEST_CASE("form: the calls of a match, the root first") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", kShape);
  hand.layers.outputs = {hand.Add("mul", {x, hand.Add("tanh", {hand.Add("softplus", {x}, kShape)}, kShape)}, kShape)};
  const Uses uses(hand.layers);
  const Form form("mul(x, tanh(softplus(x)))");
  Match match;
  REQUIRE(form.Matches(LayerCalls(uses), 2, &match));
  CHECK(match.calls == std::vector<int32_t>{2, 1, 0});
  CHECK(Form("low=clamp|maximum(x)").roots() == std::vector<std::string_view>{"clamp", "maximum"});
  CHECK(form.roots() == std::vector<std::string_view>{"mul"});
}

TEST_CASE("form: what it becomes") {
  const CallText call = ParseCall("bce_logits(x, ~y, -, %w)");
  CHECK(call.op == "bce_logits");
  REQUIRE(call.inputs.size() == 4);
  CHECK(call.inputs[0].name == "x");
  CHECK(call.inputs[1].mark == '~');
  CHECK(call.inputs[2].name.empty());
  CHECK(call.inputs[3].mark == '%');
  CHECK(ParseCall("arange()").inputs.empty());
}

}  // namespace
}  // namespace vramplan
