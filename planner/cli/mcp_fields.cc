#include "planner/cli/mcp_fields.h"

#include <algorithm>

#include "planner/cli/mcp_tools.h"
#include "planner/cli/option_row.h"

namespace vramplan {
namespace {

constexpr std::string_view kOfWords = "abcdefghijklmnopqrstuvwxyz0123456789-";

// "options.clip_grad_norm" of a tool that takes it so; "the command line's --save" of what an agent cannot give; empty: it
// takes no such thing.
std::string FieldOf(std::string_view tool, std::string_view flag) {
  if (flag == "--dim") return "dims";
  std::string name(flag.substr(2));
  std::ranges::replace(name, '-', '_');
  if (HasArgument(tool, name)) return name;
  const auto row = std::ranges::find_if(OptionRows(), [&](const OptionRow& one) {
    return flag == one.flag && TakenBy(one, tool == "plan"      ? Verb::kPlan
                                            : tool == "explain" ? Verb::kExplain
                                                                : Verb::kFit);
  });
  if (row == OptionRows().end()) return "";
  return IsServersOwn(flag.substr(2)) ? "the command line's " + std::string(flag) : "options." + name;
}

// A command line stands there, and not an option alone.
bool IsCommand(std::string_view rest) {
  constexpr std::string_view kProgram = "vramplan ";
  return rest.starts_with(kProgram) && rest.size() > kProgram.size() &&
         kOfWords.find(rest[kProgram.size()]) != kOfWords.npos;
}

}  // namespace

std::string InFields(std::string_view tool, std::string_view text) {
  if (tool == "gpus" || tool == "models") return std::string(text);  // tables for people
  std::string told;
  for (size_t at = 0; at < text.size();) {
    const std::string_view rest = text.substr(at);
    constexpr std::string_view kBefore = " (\"'\n";
    const bool begins = at == 0 || kBefore.find(text[at - 1]) != kBefore.npos;
    if (begins && IsCommand(rest)) {
      const size_t end = std::min(rest.find_first_of("),;\n"), rest.size());
      told += rest.substr(0, end);
      at += end;
      continue;
    }
    constexpr std::string_view kType = "type --";
    const bool types = begins && rest.starts_with(kType);
    const std::string_view from = types ? rest.substr(kType.size() - 2) : rest;
    if (begins && from.starts_with("--")) {
      const std::string_view flag = from.substr(0, std::min(from.find_first_not_of(kOfWords), from.size()));
      if (const std::string field = FieldOf(tool, flag); !field.empty()) {
        told += (!types ? "" : field.ends_with(flag) ? "type " : "give ") + field;
        at += static_cast<size_t>(flag.data() + flag.size() - rest.data());
        continue;
      }
    }
    told += text[at++];
  }
  return told;
}

Json HintsInFields(std::string_view tool, const Json& answer) {
  if (const auto* items = std::get_if<Json::Items>(&answer.value())) {
    Json all = Json::Array();
    for (const Json& item : *items) all.Push(HintsInFields(tool, item));
    return all;
  }
  const auto* members = std::get_if<Json::Members>(&answer.value());
  if (members == nullptr) return answer;
  Json all = Json::Object();
  for (const auto& [name, value] : *members) {
    const auto* text = std::get_if<std::string>(&value.value());
    all.Set(name, name == "hint" && text != nullptr ? Json(InFields(tool, *text)) : HintsInFields(tool, value));
  }
  return all;
}

}  // namespace vramplan
