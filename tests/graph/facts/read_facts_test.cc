#include "graph/facts/read_facts.h"

#include <doctest/doctest.h>

#include <string>

#include "graph/onnx/load.h"
#include "tests/support/onnx_text.h"
#include "tests/support/with_facts.h"

namespace vramplan {
namespace {

std::string Read(std::string rest) {
  const Result<Facts> facts = ReadFacts(R"({"schema": "vramplan.facts/1", )" + rest + "}");
  return facts.ok() ? "read" : ToString(facts.error());
}

TEST_CASE("facts: every part") {
  const Result<Facts> facts = ReadFacts(R"({"schema": "vramplan.facts/1", "mode": "eval", "of a newer version": [1],
    "parameters": [{"name": "a.weight", "type": "float32", "shape": [2, 3]},
                   {"name": "b.weight", "type": "bfloat16", "shape": [], "trained": false},
                   {"name": "c.weight", "same_as": "a.weight"}],
    "buffers": [{"name": "n", "type": "int64", "shape": []}],
    "functions": ["mine.Square"], "checkpointed": ["blocks.0"],
    "optimizer": {"name": "sgd-momentum", "weight_decay": 0.5, "momentum": 0.25, "impl": "fused"},
    "lives": {"train": {"calls": ["conv2d", "relu"], "ends": [["conv2d", 1], ["relu", -1]], "writes": ["relu"]}}})");
  REQUIRE(facts.ok());
  Facts expected;
  expected.training = false;
  expected.parameters = {{"a.weight", DType::kFloat32, {2, 3}, true, ""},
                         {"b.weight", DType::kBFloat16, {}, false, ""},
                         {"c.weight", DType::kUndefined, {}, true, "a.weight"}};
  expected.buffers = {{"n", DType::kInt64, {}, true, ""}};
  expected.functions = {"mine.Square"};
  expected.checkpointed = {"blocks.0"};
  expected.optimizer = RecordedOptimizer{"sgd-momentum", 0.5, 0.25, "fused"};
  expected.in_training = RecordedForward{{"conv2d", "relu"}, {{"conv2d", 1}, {"relu", -1}}, {"relu"}};
  CHECK(*facts == expected);
}

TEST_CASE("facts: a part that is absent says nothing") {
  const Result<Facts> facts = ReadFacts(R"({"schema": "vramplan.facts/1"})");
  REQUIRE(facts.ok());
  CHECK(*facts == Facts());
}

TEST_CASE("facts of the wrong form: one line that names the part") {
  const std::string where = "the facts in its metadata (vramplan.facts) are malformed: ";
  const std::string hint = " (hint: write it again with vramplan.export, or remove that entry)";
  const auto malformed = [&](const std::string& text) { return where + text + hint; };
  CHECK(Read(R"("mode": "both")") == malformed("\"mode\" must be train or eval"));
  CHECK(Read(R"("mode": 1)") == malformed("\"mode\" must be a text"));
  CHECK(Read(R"("functions": [1])") == malformed("\"functions\" must be a list of names"));
  CHECK(Read(R"("parameters": [{"name": "a"}])") ==
        malformed("\"parameters\" must be a list of tensors with name, type and shape"));
  CHECK(Read(R"("buffers": [{"name": "a", "type": "float33", "shape": []}])") ==
        malformed("\"buffers\" must be a list of tensors with name, type and shape"));
  CHECK(Read(R"("buffers": [{"name": "a", "type": "int8", "shape": [-1]}])") ==
        malformed("\"shape\" must be a list of lengths"));
  CHECK(Read(R"("lives": {"train": {"calls": ["a"], "ends": [["a", 1]]}})") ==
        malformed("\"ends\" must be a list of results with the numbers of calls, and there is no call 1"));
  CHECK(Read(R"("lives": {"infer": {"ends": [["a", -2]]}})") ==
        malformed("\"ends\" must be a list of results with the numbers of calls, and there is no call -2"));
  CHECK(Read(R"("lives": {"train": {"ends": [["a"]]}})") == malformed("\"ends\" must be a list of [result, call]"));
  CHECK(Read(R"("optimizer": {"momentum": "much"})") == malformed("\"momentum\" must be a number"));
  CHECK(Read("\"x\": " + std::string(40, '[') + std::string(40, ']')) ==
        malformed("they are nested more than 16 deep"));
  CHECK(ToString(ReadFacts("{").error()) == "the facts in its metadata (vramplan.facts) are no JSON" + hint);
  CHECK(ToString(ReadFacts("[]").error()) == malformed("they must be an object"));
  CHECK(ToString(ReadFacts("{}").error()) ==
        "the facts in its metadata (vramplan.facts) do not say \"schema\": \"vramplan.facts/1\"" + hint);
  CHECK(ToString(ReadFacts(R"({"schema": "vramplan.facts/2"})").error()) ==
        "the facts in its metadata are of another version than vramplan.facts/1 (hint: use the vramplan that wrote "
        "the file)");
}

constexpr const char* kModel = R"(agraph (float[batch, 3] x) => (float[batch, 3] y) { y = Relu (x) })";

TEST_CASE("facts come from the metadata of the model") {
  Notes notes;
  const std::string bytes = WithFacts(OnnxBytes(kModel), R"({"schema": "vramplan.facts/1", "mode": "train"})");
  const Result<Graph> graph = LoadFromBytes("test.onnx", bytes.data(), bytes.size(), &notes);
  REQUIRE(graph.ok());
  REQUIRE(graph->facts.has_value());
  CHECK(graph->facts->training == true);
  CHECK(!GraphFromText(kModel).facts.has_value());
}

TEST_CASE("malformed facts: the error names the file") {
  Notes notes;
  const std::string bytes = WithFacts(OnnxBytes(kModel), "no JSON");
  const Result<Graph> graph = LoadFromBytes("test.onnx", bytes.data(), bytes.size(), &notes);
  REQUIRE(!graph.ok());
  CHECK(ToString(graph.error()) ==
        "test.onnx: the facts in its metadata (vramplan.facts) are no JSON (hint: write it again with vramplan.export, "
        "or remove that entry)");
}

}  // namespace
}  // namespace vramplan
