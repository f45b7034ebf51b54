#include <doctest/doctest.h>

#include <string>

#include "graph/lift/source_lines/passes.h"
#include "tests/support/layers_by_hand.h"

namespace vramplan {
namespace {

SourceLine In(const char* file, const std::string& text) { return {file, "forward", text, 7}; }

// h = linear(x); one block: linear(h or x), relu of that; add(h, what the block made).
struct Net {
  Layers layers;
  size_t first = 1, end = 3;  // the block
};
Net WithBlock(const std::vector<SourceLine>& lines, bool reads_trained, bool adds) {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const auto line = [&](int32_t node) { hand.layers.layers.back().nodes = {NodeId{node}}; };
  const ValueId h = hand.Add("linear", {x, hand.Parameter("student.0.weight", {8, 8})}, {Dim::Batch(), 8});
  line(0);
  const ValueId t =
      hand.Add("linear", {reads_trained ? h : x, hand.Parameter("teacher.0.weight", {8, 8})}, {Dim::Batch(), 8});
  line(1);
  const ValueId r = hand.Add("linear", {t, hand.Parameter("teacher.2.weight", {8, 8})}, {Dim::Batch(), 8});
  line(2);
  hand.layers.outputs = {adds ? hand.Add("add", {h, r}, {Dim::Batch(), 8}) : r};
  if (adds) line(3);
  hand.layers.modules = {{"", "Net", {}}, {"student.0", "", ModuleId{0}}};
  for (Layer& layer : hand.layers.layers) layer.module = ModuleId{0};
  hand.layers.layers[0].module = ModuleId{1};
  hand.layers.source.lines = lines;
  for (size_t l = 0; l < lines.size(); ++l) hand.layers.source.stacks.push_back({static_cast<int32_t>(l)});
  return {hand.layers};
}

std::vector<int64_t> NoGradOf(const Layers& layers) {
  std::vector<int64_t> marks;
  for (const Layer& layer : layers.layers) marks.push_back(layer.attributes.Int("no_grad", 0));
  return marks;
}

TEST_CASE("a block that torch.export took out for no_grad is one, and its calls get their modules back") {
  const char* body = "<eval_with_key>.42";
  Net net = WithBlock({In("net.py", "h = self.student(x)"),
                       In(body, "linear_1 = torch.ops.aten.linear.default(x, p_teacher_0_weight);  x = None"),
                       In(body, "linear_2 = torch.ops.aten.linear.default(linear_1, p_teacher_2_weight)"),
                       In("net.py", "return h + t")},
                      false, true);
  ReadRegions(&net.layers, nullptr);
  CHECK(NoGradOf(net.layers) == std::vector<int64_t>{0, 1, 1, 0});
  CHECK(net.layers[net.layers.layers[1].module].path == "teacher.0");
  CHECK(net.layers[net.layers.layers[2].module].path == "teacher.2");
  const Module& around = net.layers[net.layers[net.layers.layers[2].module].parent];
  CHECK(around.path == "teacher");
  CHECK(around.class_name == "torch.nn.modules.container.Sequential");  // its children have numbers
}

TEST_CASE("without lines, two modules of a module that never ran are a guess at no_grad") {
  Net net = WithBlock({}, false, true);
  ReadRegions(&net.layers, nullptr);
  CHECK(NoGradOf(net.layers) == std::vector<int64_t>{0, kNoGradGuessed, kNoGradGuessed, 0});
}

TEST_CASE("a block that alone reads what was trained is not one of no_grad") {
  Net net = WithBlock({}, true, false);
  ReadRegions(&net.layers, nullptr);
  CHECK(NoGradOf(net.layers) == std::vector<int64_t>{0, 0, 0});
}

TEST_CASE("a block of autocast numbers its parameters; it runs in the type of its casts") {
  const char* body = "<eval_with_key>.7";
  Net net = WithBlock({In("net.py", "h = self.student(x)"),
                       In(body, "linear_1 = torch.ops.aten.linear.default(to, arg3_1);  to = arg3_1 = None"),
                       In(body, "linear_2 = torch.ops.aten.linear.default(linear_1, arg4_1);  linear_1 = None"),
                       In("net.py", "return h + t")},
                      true, true);
  ReadRegions(&net.layers, nullptr);
  CHECK(NoGradOf(net.layers) == std::vector<int64_t>{0, 0, 0, 0, 0});
  CHECK(net.layers.layers[1].op == "float");
  CHECK(net.layers.layers[2].inputs[0] == net.layers.layers[1].outputs[0]);
  CHECK(net.layers.layers[2].attributes.Int("autocast", 1) == 0);
  CHECK(net.layers.layers[3].attributes.Int("autocast", 1) == 0);
  CHECK(net.layers.layers[4].attributes.Int("autocast", 1) == 1);
}

TEST_CASE("a block that moves what it is given keeps nothing: @autocast(enabled=False) around a rotation") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId h = hand.Add("linear", {x, hand.Parameter("a.weight", {8, 8})}, {Dim::Batch(), 8});
  const ValueId turned = hand.Add("neg", {h}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("roll", {turned}, {Dim::Batch(), 8})};
  hand.layers.modules = {{"", "Net", {}}};
  for (size_t l = 0; l < 3; ++l) {
    hand.layers.layers[l].module = ModuleId{0};
    hand.layers.layers[l].nodes = {NodeId{static_cast<int32_t>(l)}};
  }
  const char* body = "<eval_with_key>.7";
  hand.layers.source.lines = {In("net.py", "h = self.a(x)"), In(body, "neg = torch.ops.aten.neg.default(alias)"),
                              In(body, "roll = torch.ops.aten.roll.default(neg, [1])")};
  hand.layers.source.stacks = {{0}, {1}, {2}};
  ReadRegions(&hand.layers, nullptr);
  CHECK(NoGradOf(hand.layers) == std::vector<int64_t>{0, 0, 0});
}

TEST_CASE("the forward of an autograd.Function runs without gradients, and one entry of the tape keeps its input") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId h = hand.Add("linear", {x, hand.Parameter("a.weight", {8, 8})}, {Dim::Batch(), 8});
  const ValueId s = hand.Add("sigmoid", {h}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("mul", {h, s}, {Dim::Batch(), 8})};
  hand.layers.modules = {{"", "Net", {}}};
  for (size_t l = 0; l < 3; ++l) {
    hand.layers.layers[l].module = ModuleId{0};
    hand.layers.layers[l].nodes = {NodeId{static_cast<int32_t>(l)}};
  }
  hand.layers.source.lines = {In("net.py", "y = Swish.apply(self.a(x))"), In("net.py", "return i * torch.sigmoid(i)")};
  hand.layers.source.stacks = {{0}, {0, 1}, {0, 1}};
  Notes notes;
  ReadRegions(&hand.layers, &notes);
  REQUIRE(hand.layers.layers.size() == 4);
  CHECK(NoGradOf(hand.layers) == std::vector<int64_t>{0, 1, 1, 0});
  const Layer& entry = hand.layers.layers[3];
  CHECK(entry.op == "function");
  CHECK(entry.inputs == std::vector<ValueId>{hand.layers.layers[2].outputs[0], h, h});
  CHECK(hand.layers.outputs == entry.outputs);
  REQUIRE(notes.all().size() == 1);
  CHECK(notes.all()[0].code == "custom-function");
}

TEST_CASE("a module that is called in a line beside an autograd.Function is no part of it") {
  LayersByHand hand;
  const ValueId x = hand.Input("x", {Dim::Batch(), 8});
  const ValueId h = hand.Add("relu", {x}, {Dim::Batch(), 8});
  hand.layers.outputs = {hand.Add("tanh", {h}, {Dim::Batch(), 8})};
  hand.layers.modules = {{"", "Net", {}}, {"a", "Block", ModuleId{0}}};
  for (size_t l = 0; l < 2; ++l) {
    hand.layers.layers[l].module = ModuleId{1};
    hand.layers.layers[l].nodes = {NodeId{static_cast<int32_t>(l)}};
  }
  hand.layers.source.lines = {In("net.py", "y = self.head(Reverse.apply(self.a(x)))"),
                              In("net.py", "return torch.relu(x).tanh()")};
  hand.layers.source.stacks = {{0, 1}, {0, 1}};
  Notes notes;
  ReadRegions(&hand.layers, &notes);
  CHECK(NoGradOf(hand.layers) == std::vector<int64_t>{0, 0});
  CHECK(notes.all().empty());
}

}  // namespace
}  // namespace vramplan
