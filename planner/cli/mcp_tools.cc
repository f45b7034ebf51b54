#include "planner/cli/mcp_tools.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "graph/base/check.h"
#include "planner/cli/mcp_fields.h"
#include "planner/cli/option_row.h"
#include "planner/report/json/schemas.h"
#include "planner/report/writing/numbers.h"
#include "planner/spec/nearest.h"
#include "planner/spec/other_words.h"

namespace vramplan {
namespace {

constexpr const char* kArgumentModel =
    R"({"type": "string", "description": "a name such as llama-3.1-8b (the tool models lists them), a folder with a config.json, ORG/NAME in the Hub's cache, or the path of an .onnx file, a .pt2 file, or what vramplan run --record wrote"})";
constexpr const char* kArgumentGpu =
    R"({"type": "string", "description": "a card such as t4, rtx-4090 or h100-sxm, which the tool gpus lists; t4,a10 or all: several"})";
constexpr const char* kArgumentMemory =
    R"({"type": "string", "description": "instead of gpu: the memory of a card, such as 14.56GiB"})";
constexpr const char* kArgumentBatch =
    R"({"type": "integer", "minimum": 1, "description": "samples in a micro-batch"})";
constexpr const char* kArgumentPrecision =
    R"({"type": "string", "description": "fp32, tf32, amp-fp16, amp-bf16, fp16 or bf16"})";
constexpr const char* kArgumentOptimizer =
    R"({"type": "string", "description": "adam, adamw, sgd, adafactor, adamw-8bit, ..."})";
constexpr const char* kArgumentMode =
    R"({"enum": ["train", "infer", "eval", "serve"], "description": "train if it is left out"})";
constexpr const char* kArgumentLora =
    R"({"type": ["integer", "string"], "description": "rank of LoRA adapters on a model that is named; the rest is frozen; or as on the command line: 16,target=all-linear"})";
constexpr const char* kArgumentCheckpoint =
    R"({"type": "array", "items": {"type": "string"}, "description": "modules whose activations are computed again in the backward: paths, or all"})";
constexpr const char* kArgumentDims =
    R"({"type": "object", "additionalProperties": {"type": "integer"}, "description": "lengths of free dimensions: {\"sequence\": 2048}"})";
constexpr const char* kArgumentOptions =
    R"({"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "array"]}, "description": "any other option of the command line by its name: {\"accumulate\": 4, \"frozen\": [\"*\"], \"verbose\": true}"})";
constexpr const char* kArgumentEmit =
    R"({"type": "string", "description": "also give the configuration that applies the plan: pytorch, hf, sft, accelerate, fsdp2, deepspeed, lightning, axolotl, torchtune, diffusers, nnunet, keras or env"})";
constexpr const char* kArgumentEffectiveBatch =
    R"({"type": "integer", "minimum": 1, "description": "samples in an optimizer step; accumulation is chosen"})";
constexpr const char* kArgumentLog =
    R"({"type": "string", "description": "the error message, or the log that holds it"})";
constexpr const char* kArgumentFilter =
    R"({"type": "string", "description": "a part of the names; all if it is left out"})";

struct ToolArgument {
  const char* name;
  const char* schema;
};
struct ToolRow {
  const char* name;
  const char* title;
  const char* text;
  std::vector<ToolArgument> arguments;
  std::vector<const char*> required;
  std::vector<Json (*)()> answers;  // the schemas of what it gives
};

const std::vector<ToolRow>& Tools() {
  static const std::vector<ToolRow> tools = {
      {"fit",
       "Does it fit the card?",
       "Says whether a PyTorch model trains (or infers) on a GPU, the largest batch that fits, and what takes the "
       "memory. Needs no GPU and runs nothing. Give gpu or gpu_memory.",
       {{"model", kArgumentModel},
        {"gpu", kArgumentGpu},
        {"gpu_memory", kArgumentMemory},
        {"batch", kArgumentBatch},
        {"precision", kArgumentPrecision},
        {"optimizer", kArgumentOptimizer},
        {"mode", kArgumentMode},
        {"lora", kArgumentLora},
        {"checkpoint", kArgumentCheckpoint},
        {"dims", kArgumentDims},
        {"options", kArgumentOptions}},
       {"model"},
       {FitSchema, RecordSchema}},
      {"plan",
       "What to change so that it fits",
       "Finds the precision, optimizer, accumulation and checkpointed modules with which a model trains on a GPU and "
       "loses the least time, with the code or configuration that applies them. Give gpu or gpu_memory.",
       {{"model", kArgumentModel},
        {"gpu", kArgumentGpu},
        {"gpu_memory", kArgumentMemory},
        {"batch", kArgumentBatch},
        {"effective_batch", kArgumentEffectiveBatch},
        {"precision", kArgumentPrecision},
        {"optimizer", kArgumentOptimizer},
        {"lora", kArgumentLora},
        {"dims", kArgumentDims},
        {"emit", kArgumentEmit},
        {"options", kArgumentOptions}},
       {"model"},
       {PlanSchema, RecordSchema}},
      {"explain",
       "Why memory ran out",
       "Reads an out-of-memory message of PyTorch, JAX, TensorFlow, vLLM, llama.cpp or CUDA and says what was full and "
       "why; with the model it names the request of the step that failed and what fits.",
       {{"log", kArgumentLog},
        {"model", kArgumentModel},
        {"gpu", kArgumentGpu},
        {"batch", kArgumentBatch},
        {"precision", kArgumentPrecision},
        {"optimizer", kArgumentOptimizer},
        {"dims", kArgumentDims},
        {"options", kArgumentOptions}},
       {"log"},
       {ExplainSchema}},
      {"models",
       "Models that have names",
       "Lists the models that can be named instead of giving a file.",
       {{"text", kArgumentFilter}},
       {},
       {ModelsSchema}},
      {"gpus",
       "Cards",
       "Lists the GPUs that are known, with their memory.",
       {{"text", kArgumentFilter}},
       {},
       {GpusSchema}},
  };
  return tools;
}

Json ParsedSchema(const char* text) {
  Result<Json> json = ParseJson("schema", text);
  CHECK(json.ok());
  return *std::move(json);
}

const ToolRow* FindTool(std::string_view name) {
  const auto found = std::ranges::find_if(Tools(), [&](const ToolRow& tool) { return tool.name == name; });
  return found == Tools().end() ? nullptr : &*found;
}

// References to what "$defs" holds, under names that say whose they are: several schemas stand in one.
Json Renamed(const Json& schema, const std::string& prefix) {
  if (const auto* items = std::get_if<Json::Items>(&schema.value())) {
    Json renamed = Json::Array();
    for (const Json& item : *items) renamed.Push(Renamed(item, prefix));
    return renamed;
  }
  const auto* members = std::get_if<Json::Members>(&schema.value());
  if (members == nullptr) return schema;
  Json renamed = Json::Object();
  constexpr std::string_view kDefs = "#/$defs/";
  for (const auto& [name, value] : *members) {
    const std::string text = StringIn(&value);
    if (name == "$ref" && text.starts_with(kDefs)) {
      renamed.Set(name, std::string(kDefs) + prefix + text.substr(kDefs.size()));
    } else if (name != "$schema" && name != "$id" && name != "$defs") {  // readers of older drafts refuse the first two
      renamed.Set(name, Renamed(value, prefix));
    }
  }
  return renamed;
}

Json OutputSchema(const ToolRow& tool) {
  Json schema = Json::Object(), any = Json::Array(), defs = Json::Object();
  for (size_t i = 0; i < tool.answers.size(); ++i) {
    const Json whole = tool.answers[i]();
    const std::string prefix = std::to_string(i) + "-";
    any.Push(Renamed(whole, prefix));
    const Json* own = MemberOf(whole, "$defs");
    if (own == nullptr) continue;
    for (const auto& [name, value] : std::get<Json::Members>(own->value()))
      defs.Set(prefix + name, Renamed(value, prefix));
  }
  schema.Set("type", "object").Set("anyOf", std::move(any));
  return schema.Set("$defs", std::move(defs));
}

Json InputSchema(const ToolRow& tool) {
  Json properties = Json::Object(), required = Json::Array();
  for (const ToolArgument& argument : tool.arguments) properties.Set(argument.name, ParsedSchema(argument.schema));
  for (const char* name : tool.required) required.Push(name);
  Json schema = Json::Object();
  schema.Set("type", "object").Set("properties", std::move(properties)).Set("required", std::move(required));
  return schema.Set("additionalProperties", false);
}

Error WrongArgument(std::string_view argument, std::string text, std::string hint) {
  return {ErrorCode::kUsage, std::string(argument), std::move(text), std::move(hint)};
}

// As it is typed; nothing: it is no text, number or flag.
std::optional<std::string> TypedText(const Json& value) {
  if (const auto* text = std::get_if<std::string>(&value.value())) return *text;
  if (const auto* whole = std::get_if<int64_t>(&value.value())) return std::to_string(*whole);
  if (const auto* real = std::get_if<double>(&value.value()); real != nullptr && std::isfinite(*real))
    return NumberText(*real);
  return std::nullopt;
}

bool IsNull(const Json& value) { return std::holds_alternative<std::nullptr_t>(value.value()); }

// Null: there is none.
const OptionRow* RowCalled(const std::string& flag) {
  const auto row = std::ranges::find(OptionRows(), flag, &OptionRow::flag);
  return row == OptionRows().end() ? nullptr : &*row;
}

// What to do with an argument that the tool does not have.
std::string WhereElse(const std::string& argument) {
  std::string flag = "--" + argument;
  std::ranges::replace(flag, '_', '-');
  const KnownOption other = OptionFor(flag);
  if (RowCalled(flag) != nullptr) return "give options, as {\"" + argument + "\": ...}";
  if (other.flag == "--dim") return R"(give dims, as {"sequence": 2048})";
  if (other.flag.empty()) return "options takes those of the command line";
  return InFields("fit", other.hint);
}

class ToolLine {
 public:
  explicit ToolLine(const char* verb) { command_.words = {verb}; }

  // No word of an argument is taken for an option.
  Status Word(std::string_view argument, std::string word) {
    if (word.starts_with('-')) return WrongArgument(argument, InQuotes(word) + " begins with -", "");
    command_.words.push_back(std::move(word));
    return Done();
  }

  Status Option(std::string_view argument, const std::string& option, const Json& value) {
    const OptionRow* const row = RowCalled("--" + option);
    if (const auto* flag = std::get_if<bool>(&value.value())) {
      if (row != nullptr && !row->is_flag()) {
        return WrongArgument(
            argument, std::string("takes ") + row->argument + ", and not " + (*flag ? "true" : "false"),
            "give " + std::string(argument) + " as on the command line: --" + option + " " + row->argument);
      }
      if (*flag) command_.words.push_back("--" + option);
      return Done();
    }
    if (const auto* items = std::get_if<Json::Items>(&value.value())) {
      for (const Json& item : *items) {
        if (std::holds_alternative<Json::Items>(item.value()) || std::holds_alternative<bool>(item.value()))
          return WrongArgument(argument, "holds what is neither text nor a number", "");
        if (const Status one = Option(argument, option, item); !one) return one;
      }
      return Done();
    }
    std::optional<std::string> text = TypedText(value);
    if (row != nullptr && row->is_flag()) {
      if (text != "true" && text != "false") return WrongArgument(argument, "is on or off", "give true or false");
      return Option(argument, option, Json(text == "true"));
    }
    if (!text) return WrongArgument(argument, "is not text, a number, a flag or a list of them", "");
    command_.words.push_back("--" + option);
    return Word(argument, *std::move(text));
  }

  Status Argument(const std::string& name, const Json& value) {
    const auto* members = std::get_if<Json::Members>(&value.value());
    if (name == "log" || name == "emit") {
      const auto* text = std::get_if<std::string>(&value.value());
      if (text == nullptr) return WrongArgument(name, "is not text", "");
      (name == "log" ? command_.input : command_.emit) = *text;
      return Done();
    }
    if (name == "dims" || name == "options") {
      if (members == nullptr) return WrongArgument(name, "is no object", "");
      for (const auto& [typed, held] : *members) {
        if (IsNull(held)) continue;
        const std::string key = name == "options" && typed.starts_with("--") ? typed.substr(2) : typed;
        if (name == "options" &&
            (IsServersOwn(key) || key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_") != key.npos))
          return WrongArgument(name, InQuotes(key) + " is no option of this tool",
                               "vramplan fit --help all lists them");
        std::string option = key;
        std::ranges::replace(option, '_', '-');
        const std::optional<std::string> length = TypedText(held);
        const Status put = name == "options" ? Option(key, option, held)
                           : length          ? Option(key, "dim", Json(key + "=" + *length))
                                             : WrongArgument(key, "is no length", "");
        if (!put) return put;
      }
      return Done();
    }
    std::string option = name;
    std::ranges::replace(option, '_', '-');
    return Option(name, option, value);
  }

  ToolCommand Take() { return std::move(command_); }

 private:
  ToolCommand command_;
};

}  // namespace

bool IsTool(std::string_view name) { return FindTool(name) != nullptr; }

bool HasArgument(std::string_view tool, std::string_view argument) {
  const ToolRow* row = FindTool(tool);
  return row != nullptr && std::ranges::find(row->arguments, argument, &ToolArgument::name) != row->arguments.end();
}

bool IsServersOwn(std::string_view option) {
  constexpr std::string_view kOurs[] = {"out", "force", "save", "format", "emit", "help"};
  return std::ranges::find(kOurs, option) != std::end(kOurs);
}

Json ToolList() {
  Json list = Json::Array();
  for (const ToolRow& tool : Tools()) {
    Json annotations = Json::Object();
    annotations.Set("title", tool.title).Set("readOnlyHint", true).Set("destructiveHint", false);
    annotations.Set("idempotentHint", true).Set("openWorldHint", false);
    Json one = Json::Object();
    one.Set("name", tool.name).Set("title", tool.title).Set("description", tool.text);
    one.Set("inputSchema", InputSchema(tool)).Set("outputSchema", OutputSchema(tool));
    list.Push(std::move(one.Set("annotations", std::move(annotations))));
  }
  return list;
}

std::string ToolNames() {
  std::vector<std::string> names;
  for (const ToolRow& tool : Tools()) names.emplace_back(tool.name);
  return JoinChoices(names);
}

Result<ToolCommand> CommandOf(std::string_view name, const Json& arguments) {
  const ToolRow* tool = FindTool(name);
  CHECK(tool != nullptr);
  const auto* given = std::get_if<Json::Members>(&arguments.value());
  if (given == nullptr) return WrongArgument("arguments", "is no object", "");
  for (const char* required : tool->required) {
    if (MemberOf(arguments, required) == nullptr) return WrongArgument(required, "is missing", "");
  }
  ToolLine line(tool->name);
  // The word behind the verb.
  if (name == "explain") {
    if (const Status put = line.Argument("log", *MemberOf(arguments, "log")); !put) return put.error();
  } else {
    const char* const positional = name == "fit" || name == "plan" ? "model" : "text";
    const Json* word = MemberOf(arguments, positional);
    const auto* text = word == nullptr ? nullptr : std::get_if<std::string>(&word->value());
    if (word != nullptr && tool->required.empty() && (IsNull(*word) || (text != nullptr && text->empty())))
      word = nullptr;
    if (word != nullptr && StringIn(word).empty()) return WrongArgument(positional, "is no text", "");
    if (word != nullptr) {
      if (const Status put = line.Word(positional, StringIn(word)); !put) return put.error();
    }
  }
  for (const auto& [argument, value] : *given) {
    const auto known = std::ranges::find_if(
        tool->arguments, [&argument = argument](const ToolArgument& one) { return one.name == argument; });
    if (known == tool->arguments.end())
      return WrongArgument(argument, "is no argument of " + std::string(name), WhereElse(argument));
    if (IsNull(value)) continue;  // as clients leave out what a form has
    if (argument == "text" || argument == "log" || (argument == "model" && name != "explain")) continue;
    if (const Status put = line.Argument(argument, value); !put) return put.error();
  }
  ToolCommand command = line.Take();
  if (name == "explain") command.words.insert(command.words.begin() + 1, "-");
  return command;
}

}  // namespace vramplan
