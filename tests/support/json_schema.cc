#include "tests/support/json_schema.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>

namespace vramplan::testing {
namespace {

std::string TextIn(const Json& json) {
  const auto* text = std::get_if<std::string>(&json.value());
  return text == nullptr ? "" : *text;
}

bool IsOfType(const Json& value, const std::string& type) {
  const auto& held = value.value();
  const auto* real = std::get_if<double>(&held);
  if (type == "null") return std::holds_alternative<std::nullptr_t>(held);
  if (type == "boolean") return std::holds_alternative<bool>(held);
  if (type == "integer") return std::holds_alternative<int64_t>(held);
  if (type == "number") return std::holds_alternative<int64_t>(held) || (real != nullptr && std::isfinite(*real));
  if (type == "string") return std::holds_alternative<std::string>(held);
  if (type == "array") return std::holds_alternative<Json::Items>(held);
  return type == "object" && std::holds_alternative<Json::Members>(held);
}

// Follows the schema and the value together.
class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  std::string Check(const Json& schema, const Json& value, const std::string& place) const {
    const auto* keywords = std::get_if<Json::Members>(&schema.value());
    if (keywords == nullptr) return place + ": its schema is not an object";
    for (const auto& [keyword, is] : *keywords) {
      if (std::string violation = CheckKeyword(schema, keyword, is, value, place); !violation.empty()) return violation;
    }
    return "";
  }

 private:
  std::string CheckKeyword(const Json& schema, const std::string& keyword, const Json& is, const Json& value,
                           const std::string& place) const {
    constexpr std::string_view kOfReaders[] = {"$schema", "$id", "$defs", "title", "description"};
    if (std::ranges::find(kOfReaders, keyword) != std::end(kOfReaders)) return "";
    if (keyword == "$ref") {
      constexpr std::string_view kDefs = "#/$defs/";
      const std::string name = TextIn(is);
      const Json* defs = MemberOf(root_, "$defs");
      const Json* found =
          name.starts_with(kDefs) && defs != nullptr ? MemberOf(*defs, name.substr(kDefs.size())) : nullptr;
      return found == nullptr ? place + ": no such schema as " + name : Check(*found, value, place);
    }
    if (keyword == "type") return CheckType(is, value, place);
    if (keyword == "const")
      return PrintCompact(is) == PrintCompact(value) ? "" : place + ": is not " + PrintCompact(is);
    if (keyword == "enum") {
      const auto* items = std::get_if<Json::Items>(&is.value());
      const bool is_one = items != nullptr && std::ranges::any_of(*items, [&](const Json& item) {
                            return PrintCompact(item) == PrintCompact(value);
                          });
      return is_one ? "" : place + ": " + PrintCompact(value) + " is not one of " + PrintCompact(is);
    }
    if (keyword == "anyOf") {
      const auto* items = std::get_if<Json::Items>(&is.value());
      std::string first = place + ": its anyOf is no list";
      for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
        const std::string violation = Check((*items)[i], value, place);
        if (violation.empty()) return "";
        if (i == 0) first = violation;
      }
      return first;
    }
    if (keyword == "minimum") {
      const auto *least = std::get_if<int64_t>(&is.value()), *number = std::get_if<int64_t>(&value.value());
      if (least == nullptr) return place + ": its minimum is no whole number";
      return number != nullptr && *number < *least ? place + ": is below " + std::to_string(*least) : "";
    }
    if (keyword == "items") {
      const auto* items = std::get_if<Json::Items>(&value.value());
      for (size_t i = 0; items != nullptr && i < items->size(); ++i) {
        if (std::string violation = Check(is, (*items)[i], place + "/" + std::to_string(i)); !violation.empty())
          return violation;
      }
      return "";
    }
    if (keyword == "required") {
      const auto* names = std::get_if<Json::Items>(&is.value());
      if (names == nullptr) return place + ": its required is no list";
      for (const Json& name : *names) {
        if (IsOfType(value, "object") && MemberOf(value, TextIn(name)) == nullptr)
          return place + "/" + TextIn(name) + ": is missing";
      }
      return "";
    }
    if (keyword == "properties" || keyword == "additionalProperties")
      return CheckMembers(schema, keyword, value, place);
    return place + ": its schema says " + keyword + ", which is not understood here";
  }

  static std::string CheckType(const Json& is, const Json& value, const std::string& place) {
    std::vector<std::string> types;
    if (const auto* several = std::get_if<Json::Items>(&is.value())) {
      for (const Json& one : *several) types.push_back(TextIn(one));
    } else {
      types.push_back(TextIn(is));
    }
    const bool is_one = std::ranges::any_of(types, [&](const std::string& type) { return IsOfType(value, type); });
    return is_one ? "" : place + ": " + PrintCompact(value).substr(0, 40) + " is not of the type " + PrintCompact(is);
  }

  std::string CheckMembers(const Json& schema, const std::string& keyword, const Json& value,
                           const std::string& place) const {
    const auto* members = std::get_if<Json::Members>(&value.value());
    if (members == nullptr) return "";
    const Json* properties = MemberOf(schema, "properties");
    const Json* others = MemberOf(schema, "additionalProperties");
    for (const auto& [name, member] : *members) {
      const Json* known = properties == nullptr ? nullptr : MemberOf(*properties, name);
      const std::string below = place + "/" + name;
      if ((known != nullptr) != (keyword == "properties")) continue;
      if (known == nullptr && std::holds_alternative<bool>(others->value())) {
        if (!std::get<bool>(others->value())) return below + ": is not in the schema";
        continue;
      }
      if (std::string violation = Check(known != nullptr ? *known : *others, member, below); !violation.empty())
        return violation;
    }
    return "";
  }

  const Json& root_;
};

// Null: there is no such file.
const Json* SchemaOf(const std::string& verb) {
  static std::map<std::string, std::optional<Json>> read;
  const auto [place, is_new] = read.emplace(verb, std::nullopt);
  if (is_new) {
    std::ifstream file(std::string(VRAMPLAN_SOURCE_DIR) + "/docs/schemas/" + verb + ".schema.json", std::ios::binary);
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (Result<Json> schema = ParseJson(verb, text); schema.ok()) place->second = *std::move(schema);
  }
  return place->second ? &*place->second : nullptr;
}

}  // namespace

std::string ViolationOf(const Json& schema, const Json& value) { return Validator(schema).Check(schema, value, ""); }

std::string ViolationOfAnswer(const std::string& text) {
  constexpr std::string_view kBegin = "{\n  \"schema\": \"vramplan.";
  if (!text.starts_with(kBegin)) return "";
  const std::string verb = text.substr(kBegin.size(), text.find('/') - kBegin.size());
  const Json* schema = SchemaOf(verb);
  if (schema == nullptr) return "docs/schemas has no schema for " + verb;
  const Result<Json> answer = ParseJson(verb, text);
  return answer.ok() ? ViolationOf(*schema, *answer) : answer.error().text;
}

}  // namespace vramplan::testing
