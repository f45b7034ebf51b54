#include "graph/programs/layers_of_program.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/facts/read_facts.h"
#include "graph/layers/trained.h"
#include "graph/lift/lift.h"

namespace vramplan {
namespace {

// A program with the parameter w [8], the input x [B, 8] and values of that shape; `rest` are its calls and ends.
Layers Taken(const std::string& rest, const std::string& more = "") {
  std::string values = R"(["float32", [8]])";
  for (int i = 0; i < 8; ++i) values += R"(, ["float32", [[0, 1], 8]])";
  const Result<Facts> facts =
      ReadFacts(R"({"schema": "vramplan.facts/1", "mode": "train", "functions": [], )" + more +
                R"("parameters": [{"name": "w", "type": "float32", "shape": [8], "trained": true}], "buffers": [],
          "programs": {"train": {"values": [)" +
                values + R"(], "stored": [["w", 0]], "loose": [], "given": [["x", 1]],
          "modules": [["a", "mine.A", -1], ["a.b", "mine.B", 0]], )" +
                rest + "}}}");
  REQUIRE_MESSAGE(facts.ok(), ToString(facts.ok() ? Error() : facts.error()));
  Graph graph;
  graph.facts = *facts;
  Notes notes;
  const Result<Layers> layers = Lift(graph, Shapes(), &notes);
  REQUIRE(layers.ok());
  return *layers;
}

// "relu(x) -> relu_2 inplace"
std::string Lines(const Layers& layers) {
  std::string text;
  for (const Layer& layer : layers.layers) {
    text += layer.op + "(";
    for (size_t i = 0; i < layer.inputs.size(); ++i)
      text += (i == 0 ? "" : " ") + (layer.inputs[i].valid() ? layers[layer.inputs[i]].name : "-");
    text += ") -> " + layers[layer.outputs[0]].name;
    if (layer.attributes.Int("inplace", 0) != 0) text += " inplace";
    if (layer.attributes.Has("update")) text += " " + layer.attributes.Text("update", "");
    text += "\n";
  }
  return text;
}

TEST_CASE("program: one layer a call, in its module, with what the code did in place") {
  const Layers layers = Taken(R"("returned": [4], "calls": [
    ["aten.mul.Tensor", 0, ["%1", 1.0], [2]], ["aten.relu_.default", 1, ["%2"], [3]],
    ["aten.add.Tensor", -1, ["%3", "%0"], [4]]], "ends": [[2, 2], [3, 2], [4, -1]])");
  CHECK(Lines(layers) == "mul(x) -> mul_2\nrelu(mul_2) -> relu_3 inplace\nadd(relu_3 w) -> add_4\n");
  REQUIRE(layers.modules.size() == 3);
  CHECK(layers[layers.layers[1].module].path == "a.b");
  CHECK(layers[layers.layers[1].module].class_name == "mine.B");
  CHECK(!layers.layers[2].module.valid());
  const ValueId product = layers.layers[0].outputs[0], sum = layers.layers[2].outputs[0];
  CHECK(layers.outputs == std::vector<ValueId>{sum});
  REQUIRE(layers.recorded.size() == 3);
  CHECK(layers.recorded[0] == RecordedEnd{product, sum});
  CHECK(layers.recorded[2] == RecordedEnd{sum, ValueId()});
  CHECK(layers[layers.inputs[0]].shape == Shape{Dim::Batch(), 8});
  CHECK(layers.told == ToldByFacts{.tensors = true, .functions = true, .code = true});
}

TEST_CASE("program: a write into a part is one call on the whole") {
  const Layers layers = Taken(R"("returned": [5], "calls": [
    ["aten.clone.default", 0, ["%1"], [2]], ["aten.slice.Tensor", 0, ["%2", 1, 0, 4], [3]],
    ["aten.add_.Tensor", 0, ["%3", "%0"], [4], {"of": "%2"}], ["aten.neg.default", 0, ["%4"], [5]]], "ends": [])");
  CHECK(Lines(layers) ==
        "clone(x) -> clone_2\nslice(clone_2) -> slice_3\nslice_scatter(clone_2 w slice_3) -> add_4 inplace add\n"
        "neg(add_4) -> neg_5\n");
}

TEST_CASE("program: what runs under no_grad says so") {
  const Layers layers = Taken(R"("returned": [2], "calls": [
    ["aten.mul.Tensor", 0, ["%1", "%0"], [2], {"no_grad": true}]], "ends": [[2, -1]])");
  CHECK(Lines(layers) == "mul(x w) -> mul_2\n");
  CHECK(layers.layers[0].attributes.Has("no_grad"));
}

TEST_CASE("program: what an attribute of a module holds is no result") {
  const Layers layers = Taken(R"("returned": [3], "calls": [
    ["aten.neg.default", 0, ["%1"], [2]], ["aten.neg.default", 0, ["%2"], [3]]], "ends": [[2, -2], [3, -1]])");
  const ValueId held = layers.layers[0].outputs[0], result = layers.layers[1].outputs[0];
  CHECK(layers.outputs == std::vector<ValueId>{result});
  CHECK(layers.kept_by_modules == std::vector<ValueId>{held});
  CHECK(layers.recorded == std::vector<RecordedEnd>{{held, ValueId()}, {result, ValueId()}});
}

TEST_CASE("program: a write into all of a tensor is one into a part that is the whole") {
  const Layers layers = Taken(R"("returned": [3], "calls": [
    ["aten.clone.default", 0, ["%1"], [2]], ["aten.copy_.default", 0, ["%2", "%1"], [3]]], "ends": [])");
  CHECK(Lines(layers) == "clone(x) -> clone_2\nslice_scatter(clone_2 x) -> copy_3 inplace copy\n");
}

TEST_CASE("program: a call that gives its operand back is no layer") {
  const Layers layers = Taken(R"("returned": [3], "calls": [
    ["aten.dropout.default", 0, ["%1", 0.5, false], [2]], ["aten.neg.default", 0, ["%2"], [3]]], "ends": [[2, 1]])");
  CHECK(Lines(layers) == "neg(x) -> neg_3\n");
}

TEST_CASE("program: a function keeps what it says, and its backward is layers of its own") {
  const std::string backward = R"({"values": [["float32", [[0, 1], 8]], ["float32", [8]], ["float32", [[0, 1], 8]]],
      "stored": [], "loose": [], "given": [["", 0], ["", 1]], "returned": [2, null], "modules": [],
      "calls": [["aten.mul.Tensor", -1, ["%0", "%1"], [2]]], "ends": [[2, -1]]})";
  const std::string calls = R"(, "calls": [["aten.mul.Tensor", 0, ["%1", "%0"], [2], {"no_grad": true}],
    ["vramplan.function", 0, [["%2"], ["%1", "%0"], ["%0"]], [3], {"backward": 0}]], "ends": [[3, -1]])";
  const Layers layers = Taken(R"("returned": [3], "backwards": [)" + backward + "]" + calls);
  CHECK(Lines(layers) ==
        "mul(x w) -> mul_2\n"
        "function(mul_2 x w w) -> function_3\n");
  const Attributes& told = layers.layers.back().attributes;
  CHECK(told.Int("results", 0) == 1);
  CHECK(told.Int("operands", 0) == 2);
  CHECK(told.Int("backward", -1) == 0);
  REQUIRE(layers.backwards.size() == 1);
  const Layers& inner = layers.backwards[0];
  CHECK(inner.inputs.size() == 2);
  CHECK(Lines(inner) == "mul( ) -> mul_2\n");
  CHECK(inner.outputs == std::vector<ValueId>{inner.layers[0].outputs[0], ValueId()});
}

TEST_CASE("program: channels last, in memory and as the code asks for it") {
  const Layers layers = Taken(R"("channels_last": [0, 1], "returned": [4], "calls": [
    ["aten.contiguous.default", 0, ["%1"], [2], {"memory_format": "channels_last"}],
    ["aten.to.dtype_layout", 0, ["%2"], [3], {"memory_format": "channels_last"}],
    ["aten.contiguous.default", 0, ["%3"], [4]]], "ends": [])");
  CHECK(Lines(layers) ==
        "contiguous(x) -> contiguous_2\ncontiguous(contiguous_2) -> to_3\ncontiguous(to_3) -> contiguous_4\n");
  CHECK(layers.layers[0].attributes.Int("channels_last", 0) == 1);
  CHECK(layers.layers[1].attributes.Int("channels_last", 0) == 1);
  CHECK(layers.layers[2].attributes.Int("channels_last", 0) == 0);
  CHECK(layers[layers.inputs[0]].channels_last);
  CHECK(layers[layers.parameters[0]].channels_last);
  CHECK_FALSE(layers[layers.outputs[0]].channels_last);
}

TEST_CASE("program: a clone keeps a layout where the code says no other; noise of the type of halves") {
  const Layers layers = Taken(R"("returned": [4], "calls": [
    ["aten.clone.default", 0, ["%1"], [2], {"memory_format": "preserve"}],
    ["aten.clone.default", 0, ["%2"], [3]],
    ["aten.rand.default", 0, [[8, 3]], [4], {"amp": "half"}]], "ends": [])");
  CHECK(layers.layers[0].attributes.Int("preserve", 0) == 1);
  CHECK(layers.layers[1].attributes.Int("preserve", 0) == 0);
  CHECK(layers.layers[2].attributes.Int("like_half", 0) == 1);
}

TEST_CASE("program: a softmax of halves that makes fp32 says so") {
  const auto program = [](const std::string& result) {
    return R"({"schema": "vramplan.facts/1", "mode": "train", "functions": [], "parameters": [], "buffers": [],
        "programs": {"train": {"values": [["bfloat16", [[0, 1], 8]], [")" +
           result + R"(", [[0, 1], 8]]], "stored": [], "loose": [], "given": [["x", 0]], "modules": [], "returned": [1],
        "calls": [["aten.softmax.int", -1, ["%0", -1, null], [1]]], "ends": []}}})";
  };
  for (const bool makes_float : {true, false}) {
    Graph graph;
    const Result<Facts> facts = ReadFacts(program(makes_float ? "float32" : "bfloat16"));
    REQUIRE(facts.ok());
    graph.facts = *facts;
    Notes notes;
    const Result<Layers> layers = Lift(graph, Shapes(), &notes);
    REQUIRE(layers.ok());
    CHECK(layers->layers[0].attributes.Text("type", "") == (makes_float ? "float" : ""));
  }
}

TEST_CASE("program: the loss begins behind what the model made last") {
  const std::string calls = R"("returned": [4, 3], "calls": [
    ["aten.relu.default", 0, ["%1"], [2]], ["aten.mul.Tensor", 0, ["%2", 2], [3]],
    ["aten.add.Tensor", -1, ["%3", "%1"], [4]]], "ends": [])";
  const Layers layers = Taken(R"("loss": 2, )" + calls);
  CHECK(layers.loss_after == layers.layers[1].outputs[0]);
  CHECK_FALSE(Taken(calls).loss_after.valid());
}

TEST_CASE("program: operators of other libraries have rules by their whole name") {
  const Layers layers = Taken(R"("returned": [2], "calls": [
    ["torchvision.roi_align.default", 0, ["%1", "%0", 1.0, 7, 7, 2, false], [2]],
    ["mine.roi_align.default", 0, ["%1", "%0"], [3]],
    ["transformers.grouped_mm_fallback.default", 0, ["%1", "%0", "%2"], [4]]], "ends": [])");
  CHECK(Lines(layers) ==
        "roi_align(x w) -> roi_align_2\nmine::roi_align(x w) -> roi_align_3\n"
        "grouped_mm_fallback(x w roi_align_2) -> grouped_mm_fallback_4\n");
}

TEST_CASE("program: operators without a rule keep their name and their operands") {
  const Layers layers = Taken(R"("returned": [2], "calls": [
    ["aten.frobnicate.default", 0, [["%1", 2], "%0"], [2]]], "ends": [])");
  CHECK(Lines(layers) == "aten::frobnicate(x w) -> frobnicate_2\n");
}

TEST_CASE("program: only of the mode that is asked about") {
  std::optional<Facts> facts = Facts();
  CHECK(ProgramFor(std::nullopt, true, false) == nullptr);
  facts->inference_program = RecordedProgram();
  CHECK(ProgramFor(facts, true, false) == nullptr);
  CHECK(ProgramFor(facts, false, false) == &*facts->inference_program);
  CHECK(ProgramFor(facts, false, true) == &*facts->inference_program);
  facts->inference_program_in_amp = RecordedProgram();
  CHECK(ProgramFor(facts, false, true) == &*facts->inference_program_in_amp);
}

}  // namespace
}  // namespace vramplan
