#include "planner/report/writing/fields.h"

#include <algorithm>

namespace vramplan {
namespace {

constexpr size_t kColumns = 160;

// Null beside a type, or beside a reference.
Json::Items WithNull(const Json& type) {
  Json::Items types;
  if (const auto* several = std::get_if<Json::Items>(&type.value())) {
    types = *several;
  } else {
    types.push_back(type);
  }
  types.emplace_back("null");
  return types;
}

Json ArrayOf(Json::Items items) {
  Json array = Json::Array();
  for (Json& item : items) array.Push(std::move(item));
  return array;
}

void PrintInto(const Json& json, size_t indent, size_t used, std::string* text) {
  std::string line = PrintCompact(json);
  const auto* members = std::get_if<Json::Members>(&json.value());
  const auto* items = std::get_if<Json::Items>(&json.value());
  const bool nests = members != nullptr && std::ranges::any_of(*members, [](const auto& member) {
                       return std::holds_alternative<Json::Members>(member.second.value());
                     });
  if ((members == nullptr && items == nullptr) || (!nests && indent + used + line.size() <= kColumns)) {
    *text += line;
    return;
  }
  const std::string inner(indent + 2, ' ');
  bool first = true;
  const auto open = [&] {
    *text += (first ? "\n" : ",\n") + inner;
    first = false;
  };
  *text += members != nullptr ? "{" : "[";
  if (members != nullptr) {
    for (const auto& [name, value] : *members) {
      open();
      *text += PrintCompact(Json(name)) + ": ";
      PrintInto(value, indent + 2, name.size() + 4, text);
    }
  } else {
    for (const Json& item : *items) {
      open();
      PrintInto(item, indent + 2, 0, text);
    }
  }
  *text += "\n" + std::string(indent, ' ') + (members != nullptr ? "}" : "]");
}

}  // namespace

Json TypeSchema(const char* type) {
  Json object = Json::Object();
  return object.Set("type", type);
}

Json Nullable(const Json& schema) {
  Json object = Json::Object();
  for (const auto& [name, value] : std::get<Json::Members>(schema.value())) {
    if (name == "$ref") {
      Json either = Json::Array();
      either.Push(schema).Push(TypeSchema("null"));
      return object.Set("anyOf", std::move(either));
    }
    object.Set(name, name == "type" ? ArrayOf(WithNull(value)) : value);
  }
  return object;
}

Json ArraySchema(Json items) {
  Json object = TypeSchema("array");
  return object.Set("items", std::move(items));
}

Json ObjectSchema(Json::Items required, Json properties) {
  Json object = TypeSchema("object");
  return object.Set("required", ArrayOf(std::move(required)))
      .Set("properties", std::move(properties))
      .Set("additionalProperties", false);
}

Json OptionValueSchema() {
  Json::Items types;
  for (const char* type : {"array", "boolean", "integer", "number", "string"}) types.emplace_back(type);
  Json object = Json::Object();
  return object.Set("type", ArrayOf(std::move(types))).Set("items", TypeSchema("string"));
}

Json PartSchema(const std::string& name, SchemaParts* parts, const std::function<Json(SchemaParts*)>& make) {
  if (std::ranges::find(*parts, name, &SchemaParts::value_type::first) == parts->end()) {
    Json part = make(parts);
    parts->emplace_back(name, std::move(part));
  }
  Json object = Json::Object();
  return object.Set("$ref", "#/$defs/" + name);
}

Json WithDescription(Json schema, const char* says) {
  if (std::string_view(says).empty()) return schema;
  return schema.Set("description", says);
}

Json WholeSchema(const std::string& id, const std::string& title, const Json& object, const SchemaParts& parts) {
  Json first = Json::Object();
  first.Set("const", id);
  Json whole = Json::Object();
  whole.Set("$schema", "https://json-schema.org/draft/2020-12/schema")
      .Set("$id", id)
      .Set("title", id + ": " + title)
      .Set("description", "Sizes are bytes. Written by vramplan: planner/report/writing/fields.h.");
  for (const auto& [name, value] : std::get<Json::Members>(object.value())) {
    if (name == "required") {
      Json::Items required = {Json("schema")};
      for (const Json& one : std::get<Json::Items>(value.value())) required.push_back(one);
      whole.Set(name, ArrayOf(std::move(required)));
    } else if (name == "properties") {
      Json properties = Json::Object();
      properties.Set("schema", first);
      for (const auto& [field, schema] : std::get<Json::Members>(value.value())) properties.Set(field, schema);
      whole.Set(name, std::move(properties));
    } else {
      whole.Set(name, value);
    }
  }
  if (parts.empty()) return whole;
  Json defs = Json::Object();
  for (const auto& [name, part] : parts) defs.Set(name, part);
  return whole.Set("$defs", std::move(defs));
}

Json EitherSchema(const std::string& id, const std::string& title, const Json::Items& kinds, const SchemaParts& parts) {
  Json any = Json::Object();
  any.Set("anyOf", ArrayOf(kinds));
  return WholeSchema(id, title, any, parts);
}

std::string PrintSchema(const Json& schema) {
  std::string text;
  PrintInto(schema, 0, 0, &text);
  return text + "\n";
}

}  // namespace vramplan
