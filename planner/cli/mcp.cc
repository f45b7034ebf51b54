#include "planner/cli/mcp.h"

#include <algorithm>
#include <istream>
#include <optional>
#include <ostream>
#include <string_view>

#include "planner/cli/help.h"
#include "planner/cli/mcp_fields.h"
#include "planner/cli/mcp_tools.h"
#include "planner/report/writing/json.h"

namespace vramplan {
namespace {

// The revisions whose messages are those below; the newest goes to a client that asks for another.
constexpr std::string_view kRevisions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
// Of JSON-RPC 2.0.
constexpr int kParseError = -32700, kInvalidRequest = -32600, kNoMethod = -32601, kInvalidParams = -32602;

constexpr const char* kInstructions =
    "vramplan tells, without a GPU, how much GPU memory a PyTorch training or inference step takes, whether it fits a "
    "card, and what to change if it does not. Call fit first; plan when it does not fit; explain for the text of an "
    "out-of-memory error. The first line of an answer is the verdict. Sizes in structuredContent are bytes. If an "
    "answer says options.NAME, pass it in options: {\"NAME\": ...}.";

Json Message(const Json& id) {
  Json message = Json::Object();
  message.Set("jsonrpc", "2.0").Set("id", id);
  return message;
}

Json Failure(const Json& id, int code, std::string text) {
  Json error = Json::Object();
  error.Set("code", code).Set("message", std::move(text));
  return Message(id).Set("error", std::move(error));
}

Json Initialized(const Json& params) {
  const std::string wanted = StringIn(MemberOf(params, "protocolVersion"));
  const bool known = std::ranges::find(kRevisions, wanted) != std::end(kRevisions);
  Json tools = Json::Object();
  tools.Set("listChanged", false);
  Json capabilities = Json::Object();
  capabilities.Set("tools", std::move(tools));
  std::string version = VersionText().substr(std::string_view("vramplan ").size());
  version.pop_back();
  Json server = Json::Object();
  server.Set("name", "vramplan").Set("title", "vramplan: GPU memory of PyTorch steps").Set("version", version);
  Json result = Json::Object();
  result.Set("protocolVersion", known ? static_cast<std::string_view>(wanted) : kRevisions[0]);
  return result.Set("capabilities", std::move(capabilities))
      .Set("serverInfo", std::move(server))
      .Set("instructions", kInstructions);
}

Json TextContent(std::string text) {
  Json content = Json::Object();
  content.Set("type", "text").Set("text", std::move(text));
  return content;
}

Json Refused(std::string text) {
  Json result = Json::Object();
  result.Set("content", Json::Array().Push(TextContent(std::move(text))));
  return result.Set("isError", true);
}

Json Called(std::string_view tool, const ToolCommand& command, const Asker& ask) {
  const auto with = [&](std::initializer_list<const char*> more) {
    std::vector<std::string> words = command.words;
    words.insert(words.end(), more.begin(), more.end());
    return ask(words, command.input);
  };
  const Asked answer = with({"--format", "json"});
  if (!answer.answered()) return Refused(InFields(tool, ErrorLine(answer)));
  Result<Json> structured = ParseJson("the answer", answer.out);
  if (!structured.ok()) return Refused(structured.error().text);
  Json content = Json::Array();
  content.Push(TextContent(InFields(tool, with({}).out)));
  if (!command.emit.empty()) {
    const Asked snippet = with({"--emit", command.emit.c_str()});
    if (!snippet.answered() || !snippet.out.empty())
      content.Push(TextContent(snippet.answered() ? snippet.out : InFields(tool, ErrorLine(snippet))));
  }
  Json result = Json::Object();
  result.Set("content", std::move(content)).Set("structuredContent", HintsInFields(tool, *structured));
  return result.Set("isError", false);
}

Json Answered(const Json& id, const std::string& method, const Json& params, const Asker& ask) {
  if (method == "initialize") return Message(id).Set("result", Initialized(params));
  if (method == "ping") return Message(id).Set("result", Json::Object());
  if (method == "tools/list") {
    Json result = Json::Object();
    result.Set("tools", ToolList());
    return Message(id).Set("result", std::move(result));
  }
  if (method != "tools/call") return Failure(id, kNoMethod, "there is no method " + method);
  const std::string name = StringIn(MemberOf(params, "name"));
  if (name.empty()) return Failure(id, kInvalidParams, "params.name is missing: give " + ToolNames());
  if (!IsTool(name)) return Failure(id, kInvalidParams, "there is no tool " + name + ": give " + ToolNames());
  const Json none = Json::Object();
  const Json* arguments = MemberOf(params, "arguments");
  const bool given = arguments != nullptr && !std::holds_alternative<std::nullptr_t>(arguments->value());
  const Result<ToolCommand> command = CommandOf(name, given ? *arguments : none);
  return Message(id).Set("result", command.ok() ? Called(name, *command, ask) : Refused(ToString(command.error())));
}

std::optional<Json> AnswerTo(const std::string& line, const Asker& ask) {
  const Result<Json> message = ParseJson("message", line);
  if (!message.ok()) return Failure(Json(), kParseError, "the message " + message.error().text);
  const Json* id = MemberOf(*message, "id");
  const bool id_is_right = id != nullptr && (std::holds_alternative<int64_t>(id->value()) ||
                                             std::holds_alternative<std::string>(id->value()));
  const Json* method = MemberOf(*message, "method");
  if (method == nullptr && MemberOf(*message, "jsonrpc") != nullptr &&
      (MemberOf(*message, "result") != nullptr || MemberOf(*message, "error") != nullptr))
    return std::nullopt;  // an answer, and nothing was asked
  if (StringIn(MemberOf(*message, "jsonrpc")) != "2.0" || StringIn(method).empty() || (id != nullptr && !id_is_right))
    return Failure(id_is_right ? *id : Json(), kInvalidRequest, "the message is no request of JSON-RPC 2.0");
  if (id == nullptr) return std::nullopt;  // a notification
  const Json none = Json::Object();
  const Json* params = MemberOf(*message, "params");
  return Answered(*id, StringIn(method), params == nullptr ? none : *params, ask);
}

}  // namespace

std::string AnswerMessage(const std::string& line, const Asker& ask) {
  if (line.find_first_not_of(" \t\r") == std::string::npos) return "";
  const std::optional<Json> answer = AnswerTo(line, ask);
  return answer ? PrintCompact(*answer) + "\n" : "";
}

std::string McpHelp() {
  return "A server of the Model Context Protocol on standard input and output, for agents: it answers fit, plan, "
         "explain,\n"
         "models and gpus. A client starts it:\n\n"
         "  {\"mcpServers\": {\"vramplan\": {\"command\": \"vramplan\", \"args\": [\"mcp\"]}}}\n\n"
         "usage: vramplan mcp\n";
}

int ServeMcp(std::istream& in, std::ostream& out, const Asker& ask) {
  for (std::string line; out && std::getline(in, line);) out << AnswerMessage(line, ask) << std::flush;
  return out ? 0 : 1;
}

}  // namespace vramplan
