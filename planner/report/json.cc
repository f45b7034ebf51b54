#include "planner/report/json.h"

#include <nlohmann/json.hpp>
#include <type_traits>

#include "graph/base/check.h"

namespace vramplan {
namespace {

nlohmann::ordered_json Convert(const Json& json) {
  return std::visit(
      [](const auto& value) -> nlohmann::ordered_json {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Json::Items>) {
          nlohmann::ordered_json array = nlohmann::ordered_json::array();
          for (const Json& item : value) array.push_back(Convert(item));
          return array;
        } else if constexpr (std::is_same_v<T, Json::Members>) {
          nlohmann::ordered_json object = nlohmann::ordered_json::object();
          for (const auto& [name, member] : value) object[name] = Convert(member);
          return object;
        } else {
          return value;
        }
      },
      json.value());
}

}  // namespace

Json& Json::Set(std::string name, Json value) {
  auto* members = std::get_if<Members>(&value_);
  CHECK(members != nullptr);
  members->emplace_back(std::move(name), std::move(value));
  return *this;
}

Json& Json::Push(Json item) {
  auto* items = std::get_if<Items>(&value_);
  CHECK(items != nullptr);
  items->push_back(std::move(item));
  return *this;
}

std::string Print(const Json& json) {
  return Convert(json).dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Json ToJson(const Notes& notes) {
  Json array = Json::Array();
  for (const Note& note : notes.all()) {
    Json object = Json::Object();
    object.Set("code", note.code)
        .Set("severity", note.severity == Severity::kWarning ? "warning" : "note")
        .Set("subject", note.subject)
        .Set("text", note.text)
        .Set("hint", note.hint);
    array.Push(std::move(object));
  }
  return array;
}

}  // namespace vramplan
