#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "graph/lift/source_lines/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// Whether an operator of this line is in place afterwards; `before`: by habit.
bool InPlace(const char* op, const char* line, bool before, const Shape& operand = {Dim::Batch(), 8}) {
  LayersByHand hand;
  const Shape shape{Dim::Batch(), 8};
  const ValueId x = hand.Add("relu", {hand.Input("x", operand)}, operand);
  hand.layers.outputs = {hand.Add(op, {x, hand.Input("y", shape)}, shape)};
  if (before) hand.attributes().Set("inplace", int64_t{1});
  hand.layers.layers.back().nodes = {NodeId{0}};
  hand.layers.source.lines = {{"net.py", "forward", line, 7}};
  hand.layers.source.stacks = {{0}};
  ReadInPlaceLines(&hand.layers);
  return hand.layers.layers.back().attributes.Int("inplace", 0) != 0;
}

TEST_CASE("in place, as the source line says") {
  CHECK(InPlace("add", "out += identity", false));
  CHECK(InPlace("mul", "x.mul_(1 - self.alpha)", false));
  CHECK(InPlace("sub", "x -= mean", false));
  CHECK(!InPlace("add", "out = out + identity", true));
  CHECK(!InPlace("div", "x = x / scale", true));
  CHECK(!InPlace("add", "x = torch.add(x, y)", true));
  CHECK(InPlace("add", "x = a.add_(b) + c", true));  // of one line, nobody knows which
  CHECK(!InPlace("add", "x = a.add_(b) + c", false));
  CHECK(InPlace("add", "return self.conv(x)", true));      // says nothing
  CHECK(!InPlace("add", "out += y", false, Shape{1, 8}));  // another shape than the result's: not possible
}

TEST_CASE("activations in place, as the source line says") {
  CHECK(InPlace("relu", "return F.relu_(h)", false));
  CHECK(InPlace("relu", "x = x.relu_()", false));
  CHECK(InPlace("silu", "h = F.silu(self.norm1(h), inplace=True)", false));
  CHECK(InPlace("hardtanh", "return F.relu6(x, inplace=True)", false));
  CHECK(!InPlace("relu", "x = F.relu(self.bn(self.conv(x)))", true));
  CHECK(!InPlace("relu", "x = F.leaky_relu_(x, 0.2)", false));                 // another function
  CHECK(InPlace("relu", "return F.relu(input, inplace=self.inplace)", true));  // a module: its class says it
  CHECK(!InPlace("relu", "return F.relu(input, inplace=self.inplace)", false));
  CHECK(InPlace("relu", "x = F.relu(x, True)", true));                  // by position
  CHECK(InPlace("relu", "x = F.relu(F.relu(x), inplace=True)", true));  // nobody knows which
}

// Of x = relu(input), y = op(x), z = exp(y), and perhaps exp(x), where y's line is given.
bool WritesBare(const char* line, bool read_later = false) {
  LayersByHand hand;
  const Shape shape{Dim::Batch(), 8};
  const ValueId x = hand.Add("relu", {hand.Input("x", shape)}, shape);
  hand.Add("add", {x, hand.Input("y", shape)}, shape);
  const ValueId sum = hand.layers.layers.back().outputs[0];
  hand.layers.outputs = {hand.Add("exp", {read_later ? x : sum}, shape), hand.Add("exp", {sum}, shape)};
  hand.layers.source.lines = {{"net.py", "forward", "x = F.relu(x)", 7},
                              {"net.py", "forward", line, 8},
                              {"net.py", "forward", "return f(x)", 9}};
  hand.layers.source.stacks = {{0}, {1}, {2}};
  for (size_t l = 0; l < hand.layers.layers.size(); ++l)
    hand.layers.layers[l].nodes = {NodeId{static_cast<int32_t>(std::min<size_t>(l, 2))}};
  ReadInPlaceLines(&hand.layers);
  return hand.layers.layers[1].attributes.Int("inplace", 0) != 0;
}

TEST_CASE("a call whose result nobody names wrote into its argument") {
  CHECK(WritesBare("self.add_positions(x, grid_size=(7, 7))"));
  CHECK(!WritesBare("self.add_positions(x)", true));  // the argument is as it was
  CHECK(!WritesBare("y = self.add_positions(x)"));
  CHECK(!WritesBare("outs.append(self.scaled(x))"));
  CHECK(!WritesBare("self.state.update(self.scaled(x))"));
  CHECK(!WritesBare("return self.scaled(x)"));
  CHECK(!WritesBare("self.f(x), self.g(x)"));
}

}  // namespace
}  // namespace vramplan
