// Json: a value to be printed. A light tree, so that nlohmann/json is seen by json.cc alone. Members keep their order:
// they are read by people too.
//
//   Json::Object().Set("batch", 32).Set("verdict", "fits")      {"batch": 32, "verdict": "fits"}
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/base/bytes.h"
#include "graph/base/note.h"
#include "graph/base/result.h"

namespace vramplan {

class Json {
 public:
  using Members = std::vector<std::pair<std::string, Json>>;
  using Items = std::vector<Json>;

  Json() = default;  // null
  Json(bool value) : value_(value) {}
  Json(int value) : value_(int64_t{value}) {}
  Json(int64_t value) : value_(value) {}
  Json(double value) : value_(value) {}
  Json(Bytes bytes) : value_(bytes.count()) {}  // always in bytes
  Json(const char* text) : value_(std::string(text)) {}
  Json(std::string_view text) : value_(std::string(text)) {}
  Json(std::string text) : value_(std::move(text)) {}
  template <typename T>
  Json(const std::optional<T>& value) : Json(value ? Json(*value) : Json()) {}  // nothing is null
  static Json Object() { return Json(Value(Members())); }
  static Json Array() { return Json(Value(Items())); }

  // Of an object: adds a member. Of an array: adds an item. Both give the value back, for chains.
  Json& Set(std::string name, Json value);
  Json& Push(Json item);

  using Value = std::variant<std::nullptr_t, bool, int64_t, double, std::string, Items, Members>;
  const Value& value() const { return value_; }

 private:
  explicit Json(Value value) : value_(std::move(value)) {}
  Value value_ = nullptr;
};

// Indented by two, ends with a newline. Bytes that are no UTF-8 (names in a file can be anything) become U+FFFD.
std::string Print(const Json& json);
// On one line, without spaces and without an end of line.
std::string PrintCompact(const Json& json);

// Objects keep their order. Error: not JSON, where and why (at most 256 levels deep). `name`: of the file.
Result<Json> ParseJson(const std::string& name, const std::string& text);

// A member of an object; null where there is none.
const Json* MemberOf(const Json& object, std::string_view name);
std::string StringIn(const Json* value);  // empty: no text

}  // namespace vramplan
