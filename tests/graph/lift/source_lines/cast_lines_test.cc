#include <doctest/doctest.h>

#include <string>

#include "graph/lift/source_lines/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

// keep = to(gt(x, y)); mul(h, keep), with the source line of the cast.
Layers Masked(const std::string& line) {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId h = hand.Add("neg", {x}, {Dim::Batch(), 8});
  const ValueId mask = hand.Add("gt", {x, ValueId()}, {Dim::Batch(), 8});
  hand.layers.values[mask.index()].type = DType::kBool;
  const ValueId keep = hand.Add("to", {mask}, {Dim::Batch(), 8});
  hand.layers.layers.back().nodes = {NodeId{0}};
  hand.layers.outputs = {hand.Add("mul", {h, keep}, {Dim::Batch(), 8})};
  if (!line.empty()) hand.layers.source = {{{"net.py", "forward", line, 7}}, {{0}}};
  return hand.layers;
}

TEST_CASE("the source line of a cast says which type was meant") {
  struct Row {
    const char* line;
    const char* op;  // behind ReadCastLines
    bool open;       // whether another reading is left
  };
  for (const Row& row : {Row{"keep = (x > 0).to(h.dtype)", "type_as", false},
                         Row{"keep = (x > 0).type_as(h)", "type_as", false}, Row{"keep = (x > 0).float()", "to", false},
                         Row{"keep = (x > 0).to(torch.float32)", "to", false}, Row{"", "to", true}}) {
    CAPTURE(row.line);
    Layers layers = Masked(row.line);
    ReadCastLines(&layers);
    CHECK(layers.layers[2].op == row.op);
    CHECK(CastAsOperand(&layers) == row.open);
    if (row.open) CHECK(layers.layers[2].op == "type_as");
  }
}

// x32 = float(x); mul(x32, sqrt(x32)): the second reader of the cast is the product, whose line is `line`.
Layers Upcast(const std::string& line) {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId cast = hand.Add("float", {x}, {Dim::Batch(), 8});
  const ValueId root = hand.Add("sqrt", {cast}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("mul", {cast, root}, {Dim::Batch(), 8})};
  hand.layers.layers.back().nodes = {NodeId{0}};
  if (!line.empty()) hand.layers.source = {{{"net.py", "forward", line, 7}}, {{0}}};
  return hand.layers;
}

TEST_CASE("a line that makes fp32 of a tensor twice has a cast for each reader") {
  struct Row {
    const char* line;
    bool twice;  // behind ReadCastLines
    bool open;   // whether another reading is left
  };
  for (const Row& row : {Row{"return x.float() * torch.sqrt(x.float())", true, false},
                         Row{"return x.to(torch.float32) * torch.sqrt(x.float())", true, false},
                         Row{"x = x.float() * torch.sqrt(x)", false, false},
                         Row{"return x * torch.sqrt(x)", false, false}, Row{"", false, true}}) {
    CAPTURE(row.line);
    Layers layers = Upcast(row.line);
    ReadCastLines(&layers);
    CHECK(OperatorsOf(layers) == (row.twice ? "float sqrt float mul" : "float sqrt mul"));
    if (!row.twice) CHECK(CastTwice(&layers) == row.open);
    if (!row.twice && !row.open) continue;
    REQUIRE(OperatorsOf(layers) == "float sqrt float mul");
    const Layer &first = layers.layers[0], &second = layers.layers[2];
    CHECK(second.inputs == first.inputs);
    CHECK(layers.layers[1].inputs[0] == first.outputs[0]);
    CHECK(layers.layers[3].inputs[0] == second.outputs[0]);
    CHECK_FALSE(CastTwice(&layers));  // nobody shares a cast any more
  }
}

TEST_CASE("a cast that one operator reads, or three, stays one") {
  Layers one = Upcast("");
  one.layers[2].inputs[0] = one.layers[1].outputs[0];
  CHECK_FALSE(CastTwice(&one));
  Layers three = Upcast("");
  Layer more = three.layers[1];
  more.outputs = {three.Add(Value(three[more.outputs[0]]))};
  three.layers.insert(three.layers.begin() + 2, more);
  CHECK_FALSE(CastTwice(&three));
}

TEST_CASE("a model that returns x.float() returns a tensor of its own") {
  struct Row {
    const char* line;
    const char* operators;
  };
  for (const Row& row : {Row{"return self.output(h).float()", "linear float"}, Row{"return self.output(h)", "linear"},
                         Row{"h = self.output(h).float()", "linear"}}) {
    LayersByHand hand;
    const ValueId x = hand.Input("x", {Dim::Batch(), 8});
    hand.layers.outputs = {hand.Add("linear", {x}, {Dim::Batch(), 8})};
    hand.layers.layers.back().nodes = {NodeId{0}};
    hand.layers.source = {{{"net.py", "forward", row.line, 7}, {"linear.py", "forward", "return F.linear(x)", 3}},
                          {{0, 1}}};
    ReadCastLines(&hand.layers);
    CHECK(OperatorsOf(hand.layers) == row.operators);
    CHECK(hand.layers.outputs == hand.layers.layers.back().outputs);
  }
}

}  // namespace
}  // namespace vramplan
