#include "planner/cli/mcp.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "planner/cli/ask_apart.h"
#include "planner/cli/mcp_fields.h"
#include "planner/cli/mcp_tools.h"
#include "planner/report/writing/json.h"
#include "tests/support/command_line.h"
#include "tests/support/json_schema.h"

namespace vramplan::testing {
namespace {

Json McpJson(const std::string& text) {
  const Result<Json> json = ParseJson("message", text);
  REQUIRE_MESSAGE(json.ok(), text);
  return *json;
}

// Members below members: "result.tools".
Json McpAt(const Json& json, const std::string& path) {
  std::istringstream names(path);
  Json at = json;
  for (std::string name; std::getline(names, name, '.');) {
    const Json* const next = MemberOf(at, name);
    if (next == nullptr) return Json();
    const Json copy = *next;
    at = copy;
  }
  return at;
}

Asked NoMcpAnswer(const std::vector<std::string>&, const std::string&) { return {}; }

std::string McpMessage(const char* method, const char* params = "{}") {
  return std::string(R"({"jsonrpc":"2.0","id":7,"method":")") + method + R"(","params":)" + params + "}";
}

TEST_CASE("mcp: messages and what is answered to them") {
  const struct {
    const char* line;
    const char* answer;
  } rows[] = {
      {R"({"jsonrpc":"2.0","id":1,"method":"ping"})", R"({"jsonrpc":"2.0","id":1,"result":{}})"},
      {R"({"jsonrpc":"2.0","id":"a","method":"ping","params":{}})", R"({"jsonrpc":"2.0","id":"a","result":{}})"},
      {R"({"jsonrpc":"2.0","method":"notifications/initialized"})", ""},
      {R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}})", ""},
      {R"({"jsonrpc":"2.0","id":3,"result":{}})", ""},
      {"", ""},
      {"  \r", ""},
      {"{nonsense",
       R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is not JSON at byte 3"}})"},
      {R"([{"jsonrpc":"2.0","id":1,"method":"ping"}])",
       R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is no request of JSON-RPC 2.0"}})"},
      {R"({"id":4,"method":"ping"})",
       R"({"jsonrpc":"2.0","id":4,"error":{"code":-32600,"message":"the message is no request of JSON-RPC 2.0"}})"},
      {R"({"jsonrpc":"2.0","id":null,"method":"ping"})",
       R"({"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the message is no request of JSON-RPC 2.0"}})"},
      {R"({"jsonrpc":"2.0","id":5,"method":"resources/list"})",
       R"({"jsonrpc":"2.0","id":5,"error":{"code":-32601,"message":"there is no method resources/list"}})"},
      {R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"train"}})",
       R"({"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"there is no tool train: give fit, plan, explain, models or gpus"}})"},
      {R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{}})",
       R"({"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"params.name is missing: give fit, plan, explain, models or gpus"}})"},
      {R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":["fit"]}})",
       R"({"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"params.name is missing: give fit, plan, explain, models or gpus"}})"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.line);
    const std::string answer = row.answer;
    CHECK_EQ(AnswerMessage(row.line, NoMcpAnswer), answer.empty() ? "" : answer + "\n");
  }
}

TEST_CASE("mcp: the revision that both know") {
  for (const auto& [asked, given] : {std::pair("2025-06-18", "2025-06-18"), std::pair("2024-11-05", "2024-11-05"),
                                     std::pair("2031-01-01", "2025-11-25"), std::pair("", "2025-11-25")}) {
    const std::string params = std::string(R"({"protocolVersion":")") + asked + R"(","capabilities":{}})";
    const Json result = McpAt(McpJson(AnswerMessage(McpMessage("initialize", params.c_str()), NoMcpAnswer)), "result");
    const Json version = McpAt(result, "protocolVersion"), name = McpAt(result, "serverInfo.name");
    CHECK_EQ(StringIn(&version), given);
    CHECK_EQ(StringIn(&name), "vramplan");
    CHECK(std::holds_alternative<Json::Members>(McpAt(result, "capabilities.tools").value()));
  }
}

TEST_CASE("mcp: the command line of a call") {
  using Words = std::vector<std::string>;
  const struct {
    const char* tool;
    const char* arguments;
    Words words;
  } rows[] = {
      {"fit",
       R"({"gpu": "t4", "model": "unet.onnx", "batch": 8})",
       {"fit", "unet.onnx", "--gpu", "t4", "--batch", "8"}},
      {"fit",
       R"({"model": "llama-3.1-8b", "lora": 16, "dims": {"sequence": 2048}, "checkpoint": ["all", "a.b"]})",
       {"fit", "llama-3.1-8b", "--lora", "16", "--dim", "sequence=2048", "--checkpoint", "all", "--checkpoint", "a.b"}},
      {"fit",
       R"({"model": "m.onnx", "options": {"weight_decay": 0.1, "zero-grad": "x", "host": true, "verbose": false, "frozen": ["*", "b"]}})",
       {"fit", "m.onnx", "--weight-decay", "0.1", "--zero-grad", "x", "--host", "--frozen", "*", "--frozen", "b"}},
      {"fit",
       R"({"model": "gpt2", "gpu": ["t4", "l4"], "lora": "16,target=all-linear"})",
       {"fit", "gpt2", "--gpu", "t4", "--gpu", "l4", "--lora", "16,target=all-linear"}},
      {"plan",
       R"({"model": "m.onnx", "effective_batch": 64, "emit": "hf"})",
       {"plan", "m.onnx", "--effective-batch", "64"}},
      {"explain", R"({"log": "text", "model": "m.onnx"})", {"explain", "-", "--model", "m.onnx"}},
      {"fit",
       R"({"model": "m", "gpu": null, "batch": null, "options": {"accumulate": null, "host": "true", "verbose": "false"}})",
       {"fit", "m", "--host"}},
      {"models", "{}", {"models"}},
      {"models", R"({"text": ""})", {"models"}},
      {"gpus", R"({"text": "24"})", {"gpus", "24"}},
  };
  for (const auto& row : rows) {
    CAPTURE(row.arguments);
    const Result<ToolCommand> command = CommandOf(row.tool, McpJson(row.arguments));
    REQUIRE(command.ok());
    CHECK(command->words == row.words);
  }
  CHECK_EQ(CommandOf("explain", McpJson(R"({"log": "text"})"))->input, "text");
  CHECK_EQ(CommandOf("plan", McpJson(R"({"model": "m", "emit": "hf"})"))->emit, "hf");
}

// An agent has fields, and no command line.
TEST_CASE("mcp: options are named as the fields of the tool") {
  const struct {
    const char *tool, *said, *told;
  } rows[] = {
      {"fit", "--gpu: \"a100\" is ambiguous (hint: type --gpu a100-40gb)",
       "gpu: \"a100\" is ambiguous (hint: give gpu a100-40gb)"},
      {"fit", "type --clip-grad-norm 1, or --gpu-memory 8GiB", "give options.clip_grad_norm 1, or gpu_memory 8GiB"},
      {"fit", "with --lora 16 --checkpoint all it fits", "with lora 16 checkpoint all it fits"},
      {"plan", "--lora 16 --checkpoint all", "lora 16 --checkpoint all"},  // plan chooses these
      {"fit", "(--dim sequence=8)", "(dims sequence=8)"},
      {"fit", "add --out x, --verbose", "add the command line's --out x, options.verbose"},
      {"explain", "12MiB; --save keeps it", "12MiB; the command line's --save keeps it"},
      {"explain", "type --save", "type the command line's --save"},
      {"fit", "vramplan run --gpu t4 -- python x.py, or --batch 4", "vramplan run --gpu t4 -- python x.py, or batch 4"},
      {"fit", "pre--gpu, --nothing and --", "pre--gpu, --nothing and --"},
      {"explain", "type --lora 8", "give options.lora 8"},
      {"gpus", "--gpu  card", "--gpu  card"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.said);
    CHECK_EQ(InFields(row.tool, row.said), row.told);
  }
  const Json answer = McpJson(R"({"notes": [{"text": "--gpu", "hint": "type --gpu t4"}], "n": 1})");
  CHECK_EQ(PrintCompact(HintsInFields("fit", answer)), R"({"notes":[{"text":"--gpu","hint":"give gpu t4"}],"n":1})");
}

TEST_CASE("mcp: arguments that are refused, and nothing is asked") {
  const struct {
    const char* tool;
    const char* arguments;
    const char* says;
  } rows[] = {
      {"fit", "[]", "arguments: is no object"},
      {"fit", R"({"gpu": "t4"})", "model: is missing"},
      {"fit", R"({"model": 4})", "model: is no text"},
      {"fit", R"({"model": "--out=x"})", "model: \"--out=x\" begins with -"},
      {"fit", R"({"model": "m", "gpu": "--out"})", "gpu: \"--out\" begins with -"},
      {"fit", R"({"model": "m", "batches": 4})", "batches: is no argument of fit"},
      {"fit", R"({"model": "m", "dims": 4})", "dims: is no object"},
      {"fit", R"({"model": "m", "options": {"out": "x"}})", "options: \"out\" is no option of this tool"},
      {"fit", R"({"model": "m", "options": {"save": true}})", "options: \"save\" is no option of this tool"},
      {"fit", R"({"model": "m", "options": {"a=b": "x"}})", "options: \"a=b\" is no option of this tool"},
      {"fit", R"({"model": "m", "options": {"frozen": [["*"]]}})", "frozen: holds what is neither text nor a number"},
      {"fit", R"({"model": "m", "options": {"batch": {}}})", "batch: is not text"},
      {"fit", R"({"model": "m", "batch": true})",
       "batch: takes N, and not true (hint: give batch as on the command line"},
      {"fit", R"({"model": "m", "checkpoint": false})", "checkpoint: takes MODULE, and not false"},
      {"fit", R"({"model": "m", "options": {"accumulate": true}})", "accumulate: takes N, and not true"},
      {"fit", R"({"model": null})", "model: is no text"},
      {"fit", R"({"model": "m", "options": {"host": "often"}})", "host: is on or off (hint: give true or false)"},
      {"fit", R"({"model": "m", "quant": "nf4"})",
       R"(quant: is no argument of fit (hint: give options, as {"quant": ...}))"},
      {"fit", R"({"model": "m", "sequence": 8})", R"(sequence: is no argument of fit (hint: give dims, as)"},
      {"fit", R"({"model": "m", "batch_size": 8})", "batch_size: is no argument of fit (hint: give batch N)"},
      {"explain", R"({"log": 4})", "log: is not text"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.arguments);
    const Result<ToolCommand> command = CommandOf(row.tool, McpJson(row.arguments));
    REQUIRE(!command.ok());
    CHECK_MESSAGE(ToString(command.error()).starts_with(row.says), ToString(command.error()));
    bool asked = false;
    const std::string params = std::string(R"({"name":")") + row.tool + R"(","arguments":)" + row.arguments + "}";
    const Json answer = McpJson(AnswerMessage(McpMessage("tools/call", params.c_str()),
                                              [&](const std::vector<std::string>&, const std::string&) {
                                                asked = true;
                                                return Asked();
                                              }));
    CHECK(!asked);
    CHECK_EQ(PrintCompact(McpAt(answer, "result.isError")), "true");
  }
}

TEST_CASE("mcp: every tool answers, and as its outputSchema says") {
  const Json listed = McpJson(AnswerMessage(McpMessage("tools/list"), NoMcpAnswer));
  const Json tools = McpAt(listed, "result.tools");
  const std::string unet = std::string(VRAMPLAN_SOURCE_DIR) + "/models/unet.onnx";
  const std::string log =
      R"text("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 14.76 GiB total capacity; 13.50 GiB already allocated; 11.75 MiB free; 13.60 GiB reserved in total by PyTorch)")text";
  const std::pair<std::string, std::string> calls[] = {
      {"fit", R"({"model": ")" + unet + R"(", "gpu": "t4"})"},
      {"fit", R"({"model": ")" + unet + R"(", "gpu_memory": "1GiB", "batch": 64})"},
      {"plan", R"({"model": ")" + unet + R"(", "gpu": "t4", "emit": "env"})"},
      {"explain", R"({"log": )" + log + "}"},
      {"models", R"({"text": "qwen3"})"},
      {"gpus", "{}"},
      {"gpus", "null"},
  };
  for (const auto& [name, arguments] : calls) {
    CAPTURE(arguments);
    const std::string params = R"({"name": ")" + name + R"(", "arguments": )" + arguments + "}";
    const Json answer = McpJson(AnswerMessage(McpMessage("tools/call", params.c_str()), AskApart));
    CHECK_EQ(PrintCompact(McpAt(answer, "result.isError")), "false");
    for (const Json& tool : std::get<Json::Items>(tools.value())) {
      if (StringIn(MemberOf(tool, "name")) != name) continue;
      CHECK_EQ(ViolationOf(*MemberOf(tool, "outputSchema"), McpAt(answer, "result.structuredContent")), "");
      CHECK_EQ(PrintCompact(McpAt(tool, "annotations.readOnlyHint")), "true");
      CHECK_EQ(PrintCompact(McpAt(tool, "annotations.idempotentHint")), "true");
    }
  }
  const Json refused = McpJson(AnswerMessage(
      McpMessage("tools/call", R"({"name": "fit", "arguments": {"model": "nowhere.onnx", "gpu": "t4"}})"), AskApart));
  const Json twice = McpJson(AnswerMessage(
      McpMessage("tools/call", R"({"name": "fit", "arguments": {"model": "gpt2", "gpu": "t4", "batch": [1, 2]}})"),
      AskApart));
  CHECK_EQ(PrintCompact(McpAt(twice, "result.isError")), "true");
  CHECK_NE(PrintCompact(McpAt(twice, "result.content")).find("batch: is given twice, as 1 and 2"), std::string::npos);
  CHECK_EQ(PrintCompact(McpAt(refused, "result.isError")), "true");
  CHECK_NE(PrintCompact(McpAt(refused, "result.content")).find("nowhere.onnx"), std::string::npos);
}

TEST_CASE("mcp: it takes no options") {
  CHECK(Do("mcp --help").out.ends_with("usage: vramplan mcp\n"));
  const Said said = Do("mcp unet.onnx");
  CHECK_EQ(said.exit_code, 2);
  CHECK(said.err.starts_with("vramplan: unet.onnx: mcp takes no arguments"));
}

TEST_CASE("mcp: a line in, a line out, until the end") {
  std::istringstream in(McpMessage("ping") + "\n{\n" + McpMessage("ping"));
  std::ostringstream out;
  CHECK_EQ(ServeMcp(in, out, NoMcpAnswer), 0);
  const std::string text = out.str();
  CHECK_EQ(std::count(text.begin(), text.end(), '\n'), 3);
}

}  // namespace
}  // namespace vramplan::testing
