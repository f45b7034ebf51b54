#include "graph/lift/readings/readings.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/layers_by_hand.h"
#include "tests/support/lifted_text.h"

namespace vramplan {
namespace {

using Lines = std::vector<std::string>;

Layers Activation(const std::string& nodes) {
  return testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x) => (float[batch, 8] y) {
      h = Neg (x)
)" + nodes + "\n y = Neg (a) }");
}

TEST_CASE("Sigmoid and Mul: one call, or written out") {
  const Layers layers = Activation("s = Sigmoid (h)\n a = Mul (h, s)");
  CHECK(testing::LinesOf(layers)[1] == "silu(h) -> [B, 8]");
  for (const bool with_gradients : {true, false}) {
    const std::vector<Reading> readings = OtherReadings(layers, {with_gradients, false});
    REQUIRE(readings.size() == 1);
    CHECK(readings[0].code == "activation-guessed");
    const Lines lines = testing::LinesOf(readings[0].layers);
    REQUIRE(lines.size() == 4);
    CHECK(lines[1].starts_with("sigmoid(h)"));
    CHECK(lines[2].starts_with("mul(h, "));
    CHECK(readings[0].layers.layers[2].outputs == layers.layers[1].outputs);
  }
}

TEST_CASE("products of batches: matmul, or bmm") {
  const auto read = [](const std::string& batches, bool with_gradients) {
    const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[)" + batches + "4, 8] x, float[" +
                                          batches + "8, 4] z) => (float[" + batches + R"(4, 4] y) {
      y = MatMul (x, z)
    })");
    const std::vector<Reading> readings = OtherReadings(layers, {with_gradients, false});
    return readings.empty() ? std::string() : readings[0].code + " " + readings[0].layers.layers[0].op;
  };
  CHECK(read("batch, ", true) == "product-guessed bmm");
  CHECK(read("batch, ", false).empty());
  CHECK(read("batch, 2, ", true).empty());
}

TEST_CASE("checkpoints under a condition: none, or all") {
  Layers layers = Activation("s = Sigmoid (h)\n a = Add (h, s)");
  layers.modules.push_back({"block", "", ModuleId{0}});
  layers.perhaps_checkpointed = {ModuleId{1}};
  CHECK(OtherReadings(layers, {false, false}).empty());
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "checkpoint-guessed");
  CHECK(readings[0].settle.starts_with("--checkpoint block"));
  CHECK(readings[0].layers.checkpointed == layers.perhaps_checkpointed);
}

TEST_CASE("what only scopes say of no_grad, and what a function does in its backward, have other readings") {
  Layers layers = Activation("s = Exp (h)\n a = Add (h, s)");
  layers.layers[1].attributes.Set("no_grad", int64_t{1});  // a fact
  CHECK(OtherReadings(layers, {true, false}).empty());
  layers.layers[1].attributes.Set("no_grad", int64_t{2});
  layers.layers[1].module = ModuleId{0};
  const std::vector<Reading> gradients = OtherReadings(layers, {true, false});
  REQUIRE(gradients.size() == 1);
  CHECK(gradients[0].code == "no-grad-guessed");
  CHECK(gradients[0].layers.layers[1].attributes.Int("no_grad", -1) == 0);
  layers.layers[1].op = "function";
  layers.layers[1].attributes = Named({{"steps", int64_t{2}}});
  const std::vector<Reading> backward = OtherReadings(layers, {true, false});
  REQUIRE(backward.size() == 1);
  CHECK(backward[0].code == "function-backward-guessed");
  CHECK(backward[0].layers.layers[1].attributes.Int("steps", 0) == 4);
}

TEST_CASE("Split, Sigmoid and Mul: F.glu, or a gate that is written out") {
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 8] x) => (float[batch, 4] y) {
      h = Neg (x)
      p, q = Split <axis = 1> (h)
      s = Sigmoid (q)
      a = Mul (p, s)
      y = Neg (a)
    })");
  CHECK(testing::LinesOf(layers)[1] == "glu(h) -> [B, 4] dim=1");
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "activation-guessed");
  const Layers& other = readings[0].layers;
  REQUIRE(OperatorsOf(other) == "neg split sigmoid mul neg");
  const std::vector<ValueId>& halves = other.layers[1].outputs;
  REQUIRE(halves.size() == 2);
  CHECK(other[halves[1]].shape == layers[layers.layers[1].outputs[0]].shape);
  CHECK(other.layers[2].inputs == std::vector<ValueId>{halves[1]});
  CHECK(other.layers[3].inputs == std::vector<ValueId>{halves[0], other.layers[2].outputs[0]});
  CHECK(other.layers[3].outputs == layers.layers[1].outputs);
}

TEST_CASE("a file without doubts of this kind has one reading") {
  CHECK(OtherReadings(Activation("a = Relu (h)"), {true, false}).empty());
}

TEST_CASE("a product of a tensor with itself may be torch.square, which autocast computes in fp32") {
  const Layers layers = Activation("a = Mul (h, h)");
  const std::vector<Reading> readings = OtherReadings(layers, {true, true});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "square-guessed");
  const Layer& square = readings[0].layers.layers[1];
  CHECK(square.op == "pow");
  CHECK(square.inputs.size() == 1);
  CHECK(square.attributes.Real("scalar", 0) == 2);
}

TEST_CASE("a mask made fp32 may have the type of what it is multiplied with") {
  const Layers layers = Activation("z = Greater (h, x)\n m = Cast <to = 1> (z)\n a = Mul (h, m)");
  const std::vector<Reading> readings = OtherReadings(layers, {true, true});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "cast-guessed");
  const Layer& cast = readings[0].layers.layers[2];
  CHECK(cast.op == "type_as");
  CHECK(cast.inputs == std::vector<ValueId>{layers.layers[1].outputs[0], layers.layers[0].outputs[0]});
  CHECK(OtherReadings(layers, {true, false}).empty());  // without autocast both are fp32
}

// a = (h - mean(h)) * torch.rsqrt(((h - mean(h)) ** 2).mean(-1, keepdim=True)), or with a name for h - mean(h).
TEST_CASE("what a norm scales may be centred anew") {
  const Layers layers = Activation(R"(
    two = Constant <value = float {2.0}> ()
    m = ReduceMean <axes = [-1], keepdims = 1> (h)
    d = Sub (h, m)
    p = Pow (d, two)
    v = ReduceMean <axes = [-1], keepdims = 1> (p)
    s = Sqrt (v)
    r = Reciprocal (s)
    a = Mul (d, r))");
  REQUIRE(OperatorsOf(layers) == "neg mean sub pow mean rsqrt mul neg");
  for (const bool with_gradients : {true, false}) {
    const std::vector<Reading> readings = OtherReadings(layers, {with_gradients, false});
    REQUIRE(readings.size() == 1);
    CHECK(readings[0].code == "centring-guessed");
    const Layers& twice = readings[0].layers;
    CHECK(OperatorsOf(twice) == "neg mean sub pow mean rsqrt sub mul neg");
    const Layer &once = twice.layers[2], &again = twice.layers[6];
    CHECK(again.inputs == once.inputs);
    CHECK(twice[again.outputs[0]].shape == twice[once.outputs[0]].shape);
    CHECK(twice.layers[3].inputs[0] == once.outputs[0]);
    CHECK(twice.layers[7].inputs == std::vector<ValueId>{again.outputs[0], twice.layers[5].outputs[0]});
  }
  Layers told = layers;  // a dynamo export has one node for each line
  told.layers[2].evidence = Evidence::kProvenance;
  CHECK(OtherReadings(told, {}).empty());
  Layers other = layers;  // h - mean(h) of another tensor
  other.layers[1].inputs = {other.inputs[0]};
  CHECK(OtherReadings(other, {}).empty());
}

TEST_CASE("a norm that is written out may make its operand fp32 twice, which matters under autocast") {
  Layers layers = Activation("s = Sqrt (h)\n a = Mul (h, s)");
  Layer cast = layers.layers[0];  // as any_export/upcasts.h puts it in front of a norm
  cast.op = "float";
  cast.name = "cast";
  Value value = layers[cast.outputs[0]];
  cast.inputs = {cast.outputs[0]};
  cast.outputs = {layers.Add(std::move(value))};
  for (const size_t reader : {size_t{1}, size_t{2}}) layers.layers[reader].inputs[0] = cast.outputs[0];
  layers.layers.insert(layers.layers.begin() + 1, cast);
  const std::vector<Reading> readings = OtherReadings(layers, {false, true});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "upcast-guessed");
  CHECK(OperatorsOf(readings[0].layers) == "neg float sqrt float mul neg");
  CHECK(readings[0].layers.layers[4].inputs[0] == readings[0].layers.layers[3].outputs[0]);
  CHECK(OtherReadings(layers, {false, false}).empty());  // without autocast nothing is cast
}

TEST_CASE("attention of somebody's own may cast its probabilities, and keep them for people to look at") {
  const Layers layers = Activation("s = MatMul (h, h)\n p = Softmax (s)\n a = MatMul (p, h)");
  REQUIRE(layers.layers.size() == 5);
  const std::vector<Reading> without = OtherReadings(layers, {true, false}),
                             under = OtherReadings(layers, {true, true});
  REQUIRE(without.size() == 1);
  CHECK(without[0].code == "attention-kept");
  CHECK(without[0].layers.kept_by_modules == layers.layers[2].outputs);
  REQUIRE(under.size() == 2);
  CHECK(under[0].code == "cast-back-guessed");
  CHECK(OperatorsOf(under[0].layers) == "neg matmul float softmax type_as matmul neg");
}

// One tensor in, pointwise operators alone, one tensor out: what a torch.autograd.Function of the user's own leaves.
TEST_CASE("a module of pointwise operators may be one function that keeps its operand") {
  Layers layers = Activation("s = Tanh (h)\n a = Mul (h, s)");
  REQUIRE(layers.layers.size() == 4);
  CHECK(OtherReadings(layers, {true, false}).empty());  // of the root itself
  layers.modules = {{"", "", {}}, {"act", "", ModuleId{0}}};
  for (const size_t l : {size_t{1}, size_t{2}}) layers.layers[l].module = ModuleId{1};
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "custom-function-guessed");
  CHECK(testing::LinesOf(readings[0].layers) ==
        Lines{"neg(x) -> [B, 8]", "act: silu(h) -> [B, 8]", "neg(a) -> [B, 8]"});
  CHECK(OtherReadings(layers, {false, false}).empty());  // nothing is kept
}

TEST_CASE("what rounds may be a function that keeps its operand") {
  const Layers layers = Activation("a = Sign (h)");
  const std::vector<Reading> readings = OtherReadings(layers, {});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "rounding-guessed");
  const Layers& other = readings[0].layers;
  CHECK(other.layers[1].attributes.Int("no_grad", 0) == 1);
  CHECK(other.layers[2].op == "function");
  CHECK(other.layers[2].inputs[1] == other.layers[1].inputs[0]);  // its gradient is the operand's, which it keeps
  CHECK(other.layers[3].inputs[0] == other.layers[2].outputs[0]);
  CHECK(OtherReadings(layers, {.gradients = false}).empty());
}

TEST_CASE("additions by number that the file does not name: index_put keeps less") {
  Layers layers = Activation("a = Relu (h)");
  Layer& add = layers.layers[1];
  add.op = "index_add";
  add.attributes.Set("assumed", int64_t{1});
  add.attributes.Set("dim", int64_t{1});
  add.inputs = {add.inputs[0], add.inputs[0], add.inputs[0]};
  const std::vector<Reading> readings = OtherReadings(layers, {true, false});
  REQUIRE(readings.size() == 1);
  CHECK(readings[0].code == "index-add-guessed");
  const Layer& put = readings[0].layers.layers[1];
  CHECK(put.op == "index_put");
  CHECK(put.inputs == std::vector<ValueId>{add.inputs[0], ValueId(), add.inputs[0], add.inputs[0]});
}

TEST_CASE("what the head returns stays in halves, or becomes fp32") {
  const Layers layers = testing::Lifted(R"(
    <ir_version: 8, opset_import: ["" : 17], producer_name: "pytorch", producer_version: "2.10.0">
    agraph (float[batch, 3, 8] x) => (float[batch, 4, 3] y) <float[8, 4] `head.weight`> {
      h = MatMul (x, `head.weight`)
      y = Transpose <perm = [0, 2, 1]> (h)
    })");
  const auto fp32 = [&](const ReadFor& step) {
    for (const Reading& reading : OtherReadings(layers, step)) {
      if (reading.code == "results-in-halves") return testing::LinesOf(reading.layers);
    }
    return Lines{};
  };
  CHECK(fp32({.gradients = false, .autocast = false}).empty());
  const Lines lines = fp32({.gradients = false, .autocast = true});
  REQUIRE(lines.size() == 3);
  CHECK(lines[1].starts_with("float(h)"));
  CHECK(lines[2].starts_with("transpose("));
}

TEST_CASE("logits that a tanh caps may have been made fp32 in front of it") {
  const Layers layers = testing::Lifted(R"(
    agraph (float[batch, 8] x) => (float[batch, 4] y) <float[8, 4] w> {
      cap = Constant <value_float = 30.0> ()
      h = MatMul (x, w)
      a = Div (h, cap)
      b = Tanh (a)
      y = Mul (b, cap)
    })");
  for (const Reading& reading : OtherReadings(layers, {.gradients = false, .autocast = true})) {
    if (reading.code != "results-in-halves") continue;
    const Lines lines = testing::LinesOf(reading.layers);
    REQUIRE(lines.size() == 5);
    CHECK(lines[1].starts_with("float(h)"));
    return;
  }
  FAIL("no such reading");
}

}  // namespace
}  // namespace vramplan
