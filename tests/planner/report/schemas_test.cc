// The JSON schemas of docs/schemas. Every answer in JSON that any test asks for is held against them by Do
// (tests/support/command_line.h); here is what that rests on, and one answer of each kind.
#include "planner/report/json/schemas.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include "planner/report/writing/fields.h"
#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/expectation.h"
#include "tests/support/json_schema.h"

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

std::string TextOf(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

const fs::path kSchemas = std::string(VRAMPLAN_SOURCE_DIR) + "/docs/schemas";

TEST_CASE("schemas: the validator finds what is not as the schema has it") {
  const std::string schema = R"({
    "type": "object", "required": ["kind"], "additionalProperties": false,
    "properties": {"kind": {"enum": ["a", "b"]}, "count": {"type": ["integer", "null"], "minimum": 0},
                   "rows": {"type": "array", "items": {"$ref": "#/$defs/row"}}, "one": {"const": 1},
                   "real": {"type": "number"}, "either": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/row"}]},
                   "open": {"type": "object", "additionalProperties": {"type": "boolean"}}},
    "$defs": {"row": {"type": "object", "properties": {"x": {"type": "string"}}, "additionalProperties": false}}})";
  const Json parsed = ParseJson("schema", schema).value();
  struct Row {
    const char* json;
    const char* violation;
  };
  for (const Row& row : {
           Row{R"({"kind": "a"})", ""},
           Row{R"({"kind": "b", "count": null, "rows": [{"x": "y"}, {}], "one": 1, "real": 2})", ""},
           Row{R"({"kind": "a", "real": 2.5, "either": "x", "open": {"p": true, "q": false}})", ""},
           Row{R"({"kind": "a", "either": {"x": "y"}, "count": 7})", ""},
           Row{R"({})", "/kind: is missing"},
           Row{R"([])", ": [] is not of the type \"object\""},
           Row{R"({"kind": "c"})", "/kind: \"c\" is not one of [\"a\",\"b\"]"},
           Row{R"({"kind": "a", "size": 1})", "/size: is not in the schema"},
           Row{R"({"kind": "a", "count": 1.5})", "/count: 1.5 is not of the type [\"integer\",\"null\"]"},
           Row{R"({"kind": "a", "count": -1})", "/count: is below 0"},
           Row{R"({"kind": "a", "rows": [{"x": "y"}, {"x": 1}]})", "/rows/1/x: 1 is not of the type \"string\""},
           Row{R"({"kind": "a", "rows": [{"z": 1}]})", "/rows/0/z: is not in the schema"},
           Row{R"({"kind": "a", "one": 2})", "/one: is not 1"},
           Row{R"({"kind": "a", "either": 1})", "/either: 1 is not of the type \"string\""},
           Row{R"({"kind": "a", "open": {"p": 1}})", "/open/p: 1 is not of the type \"boolean\""},
       }) {
    CAPTURE(row.json);
    CHECK_EQ(ViolationOf(parsed, ParseJson("value", row.json).value()), row.violation);
  }
  for (const char* wrong : {R"({"pattern": "x"})", R"({"$ref": "#/$defs/none"})", R"(1)"}) {
    CAPTURE(wrong);
    CHECK_NE(ViolationOf(ParseJson("schema", wrong).value(), Json(1)), "");
  }
}

// "properties" of a schema, everywhere in it.
void CollectNames(const Json& schema, std::set<std::string>* names) {
  if (const auto* items = std::get_if<Json::Items>(&schema.value())) {
    for (const Json& item : *items) CollectNames(item, names);
  }
  const auto* members = std::get_if<Json::Members>(&schema.value());
  if (members == nullptr) return;
  for (const auto& [key, value] : *members) {
    if (const auto* properties = std::get_if<Json::Members>(&value.value()); key == "properties" && properties) {
      for (const auto& [name, property] : *properties) names->insert(name);
    }
    CollectNames(value, names);
  }
}

// VRAMPLAN_GOLDEN=update writes the files anew.
TEST_CASE("schemas: the files are those of the answers' fields") {
  for (const SchemaRow& row : AnswerSchemas()) {
    CAPTURE(row.answer);
    const fs::path file = kSchemas / (std::string(row.answer) + ".schema.json");
    const std::string text = PrintSchema(row.schema());
    if (UpdatesGolden()) std::ofstream(file, std::ios::binary) << text;
    CHECK_EQ(text, TextOf(file));
  }
}

TEST_CASE("schemas: every member that a report writes is in one of them, and none is there that nobody writes") {
  std::set<std::string> written, described;
  for (const auto& entry : fs::recursive_directory_iterator(std::string(VRAMPLAN_SOURCE_DIR) + "/planner/report")) {
    const fs::path name = entry.path().filename();  // files of DeepSpeed and nnU-Net, and JSON Schema's own
    if (entry.path().parent_path().filename() == "snippets" || name == "fields.cc" || name.extension() != ".cc")
      continue;
    const std::string text = TextOf(entry.path());
    static const std::regex kSet("\\.(?:Set|Has|May|Group)\\(\\s*\"([a-z0-9_]+)\"");
    for (std::sregex_iterator match(text.begin(), text.end(), kSet), end; match != end; ++match)
      written.insert((*match)[1]);
  }
  for (const auto& entry : fs::directory_iterator(kSchemas)) {
    if (entry.path().extension() == ".json")
      CollectNames(ParseJson(entry.path().filename(), TextOf(entry.path())).value(), &described);
  }
  std::string missing, unwritten;
  for (const std::string& name : written) missing += described.contains(name) ? "" : name + " ";
  CHECK_EQ(missing, "");
  // Categories, levels, phases and what the card holds have their names from tables.
  const std::set<std::string> of_tables = {
      "parameters", "buffers",   "gradients", "optimizer_state", "activations",     "temporaries",
      "inputs",     "workspace", "requested", "allocated",       "reserved",        "device",
      "setup",      "forward",   "backward",  "update",          "cudnn_workspaces"};
  for (const std::string& name : described)
    unwritten += written.contains(name) || of_tables.contains(name) ? "" : name + " ";
  CHECK_EQ(unwritten, "");
}

TEST_CASE("schemas: an answer of each kind that needs no card") {
  const std::string unet = "MODELS/unet.onnx", gpt = "MODELS/gpt_small.onnx --dim sequence=64";
  const ScratchFile problem("problem.txt", "3 2\n1 1\n1 1\n1 1\n0 1\n1 2\n");
  const ScratchFile stream("stream.csv", "op,id,bytes\nalloc,0,1024\nfree,0,\n");
  const std::string data = std::string(VRAMPLAN_SOURCE_DIR) + "/tests/data/";
  std::set<std::string> seen;
  for (const std::string& line : {
           "estimate " + unet + " --segments --eval-batch 4",
           "estimate " + gpt + " --mode infer --framework onnxruntime",
           "fit " + unet + " --gpu t4 --host",
           "fit " + unet + " --gpu all",
           "fit " + gpt + " --gpu-memory 1MiB",
           "plan " + unet + " --gpu t4 --batch 50",
           "plan " + unet + " --gpu-memory 100MiB",
           "inspect " + unet + " --dump layers",
           "inspect " + unet + " --dump holds",
           "inspect " + unet + " --dump parameters",
           "inspect " + gpt + " --passes",
           "sweep " + unet + " --over batch=1,2 --gpu all",
           "sweep " + unet + " --over batch=1,2 --gpu t4",
           std::string("gpus"),
           std::string("models qwen3"),
           "replay " + stream.path(),
           "solve " + problem.path(),
           "explain " + data + "oom/t4.log --model MODELS/unet.onnx",
           "diff " + unet + " " + unet + " --budget 1%",
           "compare " + data + "snapshots/mlp.pickle --model " + data + "zoo/mlp.dynamo-train.onnx --batch 16",
           "validate " + unet + " --dry-run --gpu t4",
       }) {
    CAPTURE(line);
    const Said said = Do(line + " --format json");  // which holds it against its schema
    REQUIRE(said.out.starts_with("{\n  \"schema\": \"vramplan."));
    seen.insert(said.out.substr(24, said.out.find('/') - 24));
  }
  for (const auto& entry : fs::directory_iterator(kSchemas)) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".json") continue;
    // Of a card, a script, or a run: their own tests ask for those.
    const std::set<std::string> elsewhere = {"probe", "profile", "watch", "run", "record"};
    const std::string kind = name.substr(0, name.find('.'));
    CHECK_MESSAGE((seen.contains(kind) || elsewhere.contains(kind)), kind);
  }
}

}  // namespace
}  // namespace vramplan::testing
