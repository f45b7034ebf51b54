// Fields: an answer's members, described once. Its JSON, the schema in docs/schemas, what `vramplan mcp` promises and the
// attributes of the Python module's results come from the description.
//
//   template <>
//   struct Described<Remedy> {
//     static constexpr const char* kName = "";                          in place; a name: once, under "$defs"
//     static Fields<Remedy> Make() {
//       return Fields<Remedy>()
//           .Has("options", "what to type beside the question", &Remedy::options)      always there; nothing is null
//           .May("host", "...", &Fit::host);                                           left out where there is nothing
//     }
//   };
//   JsonOf(remedy)        {"options": "--checkpoint all"}
//   SchemaOf<Remedy>()    {"type": "object", "required": ["options"], "properties": ...}
//
// A field is read by a path of members and functions: of a PlanReport `&PlanReport::on, &OnCard::verdict`. A path may lead
// through a pointer or an optional that is there.
//
// The type of a field is that of what is read: Bytes and integers are "integer", optional ones "null" besides, vectors
// are arrays, maps by name and vectors of names and values are open objects, enumerations with a Name() strings. A type that is none of these says its
// own: a specialisation of JsonType.
#pragma once

#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "planner/report/writing/json.h"

namespace vramplan {

// What "$ref" points to, by name, in the order of their first use.
using SchemaParts = std::vector<std::pair<std::string, Json>>;

template <typename T>
struct Described;
template <typename T>
class Fields;
template <typename T>
const Fields<T>& FieldsOf() {
  static const Fields<T> fields = Described<T>::Make();
  return fields;
}

// {"type": "integer"}
Json TypeSchema(const char* type);
// The same schema that also allows null.
Json Nullable(const Json& schema);
Json ArraySchema(Json items);
Json ObjectSchema(Json::Items required, Json properties);
// Of an option: a text, a number, a truth value or a list of texts.
Json OptionValueSchema();
// A reference to a part that `make` describes on its first use.
Json PartSchema(const std::string& name, SchemaParts* parts, const std::function<Json(SchemaParts*)>& make);
Json WithDescription(Json schema, const char* says);
// A whole schema: "$id" and title in front, `parts` behind.
Json WholeSchema(const std::string& id, const std::string& title, const Json& object, const SchemaParts& parts);
// Printed as people read it: what fits into a line is on one.
std::string PrintSchema(const Json& schema);

template <typename V>
struct JsonType {
  static Json Value(const V& value) {
    if constexpr (requires { Described<V>::Make(); }) {
      return FieldsOf<V>().Object(value);
    } else if constexpr (std::is_enum_v<V>) {
      return Name(value);
    } else if constexpr (std::unsigned_integral<V> && !std::same_as<V, bool>) {
      return static_cast<int64_t>(value);
    } else {
      return value;
    }
  }
  static Json Schema(SchemaParts* parts) {
    if constexpr (requires { Described<V>::Make(); }) {
      const std::string name = Described<V>::kName;
      const auto make = [](SchemaParts* all) { return FieldsOf<V>().Schema(all); };
      return name.empty() ? make(parts) : PartSchema(name, parts, make);
    } else if constexpr (std::same_as<V, bool>) {
      return TypeSchema("boolean");
    } else if constexpr (std::integral<V> || std::same_as<V, Bytes>) {
      return TypeSchema("integer");
    } else if constexpr (std::floating_point<V>) {
      return TypeSchema("number");
    } else {
      static_assert(std::is_enum_v<V> || std::is_convertible_v<V, std::string_view>, "describe it");
      return TypeSchema("string");
    }
  }
};
template <typename V>
struct JsonType<std::optional<V>> {
  static Json Value(const std::optional<V>& value) { return value ? JsonType<V>::Value(*value) : Json(); }
  static Json Schema(SchemaParts* parts) { return Nullable(JsonType<V>::Schema(parts)); }
};
template <typename V>
struct JsonType<std::vector<V>> {
  static Json Value(const std::vector<V>& values) {
    Json array = Json::Array();
    for (const V& value : values) array.Push(JsonType<V>::Value(value));
    return array;
  }
  static Json Schema(SchemaParts* parts) { return ArraySchema(JsonType<V>::Schema(parts)); }
};
template <typename V>
struct JsonType<std::map<std::string, V>> {
  static Json Value(const std::map<std::string, V>& values) {
    Json object = Json::Object();
    for (const auto& [name, value] : values) object.Set(name, JsonType<V>::Value(value));
    return object;
  }
  static Json Schema(SchemaParts* parts) {
    Json object = TypeSchema("object");
    return object.Set("additionalProperties", JsonType<V>::Schema(parts));
  }
};
// The same in an order of its own.
template <typename V>
struct JsonType<std::vector<std::pair<std::string, V>>> {
  static Json Value(const std::vector<std::pair<std::string, V>>& values) {
    Json object = Json::Object();
    for (const auto& [name, value] : values) object.Set(name, JsonType<V>::Value(value));
    return object;
  }
  static Json Schema(SchemaParts* parts) { return JsonType<std::map<std::string, V>>::Schema(parts); }
};

// What a path reads: without a path `of` itself, and behind a value that a function gives a copy.
template <typename T>
const T& ReadOf(const T& of) {
  return of;
}
template <typename T, typename Get, typename... More>
decltype(auto) ReadOf(const T& of, const Get& get, const More&... more) {
  if constexpr (!std::invocable<const Get&, const T&>) {
    return ReadOf(*of, get, more...);
  } else if constexpr (sizeof...(More) == 0) {
    return std::invoke(get, of);
  } else if constexpr (std::is_lvalue_reference_v<std::invoke_result_t<const Get&, const T&>>) {
    return ReadOf(std::invoke(get, of), more...);
  } else {
    const auto value = std::invoke(get, of);
    auto read = ReadOf(value, more...);
    return read;
  }
}

// At the end of a path of members: a struct whose first member points to what was read, and which has fields of its own.
template <typename View>
inline constexpr auto As = [](const auto& part) { return View{&part}; };

// At the end of a path to an optional that is null, rather than left out, where it is empty.
inline constexpr auto OrNull = []<typename V>(const V& value) { return std::optional<V>(value); };

// A path behind what `part` reads, a pointer or an optional: nothing where that is none.
template <typename Part, typename... Path>
auto Where(Part part, Path... path) {
  return [part, path...](const auto& of) {
    const auto& there = std::invoke(part, of);
    using V = std::remove_cvref_t<decltype(ReadOf(*there, path...))>;
    if constexpr (requires(V value) { value.has_value(); }) {
      V read;
      if (there) read = ReadOf(*there, path...);
      return read;
    } else {
      return there ? std::optional<V>(ReadOf(*there, path...)) : std::nullopt;
    }
  };
}

template <typename T>
class Fields {
 public:
  template <typename... Path>
  Fields& Has(const char* name, const char* says, Path... path) {
    using V = std::remove_cvref_t<decltype(ReadOf(std::declval<const T&>(), path...))>;
    rows_.push_back({name, says, false, [path...](const T& of) { return JsonType<V>::Value(ReadOf(of, path...)); },
                     JsonType<V>::Schema});
    return *this;
  }
  // Left out where the optional that is read is empty.
  template <typename... Path>
  Fields& May(const char* name, const char* says, Path... path) {
    using V = typename std::remove_cvref_t<decltype(ReadOf(std::declval<const T&>(), path...))>::value_type;
    const auto value = [path...](const T& of) -> std::optional<Json> {
      const std::optional<V>& read = ReadOf(of, path...);
      return read ? std::optional(JsonType<V>::Value(*read)) : std::nullopt;
    };
    rows_.push_back({name, says, true, value, JsonType<V>::Schema});
    return *this;
  }
  // An object with fields of this same struct; null where it is not `given`.
  Fields& Group(const char* name, const char* says, Fields fields, std::function<bool(const T&)> given = nullptr) {
    const auto inner = std::make_shared<const Fields>(std::move(fields));
    const bool always = given == nullptr;
    const auto value = [inner, given](const T& of) -> std::optional<Json> {
      return given == nullptr || given(of) ? inner->Object(of) : Json();
    };
    const auto schema = [inner, always](SchemaParts* parts) {
      const Json object = inner->Schema(parts);
      return always ? object : Nullable(object);
    };
    rows_.push_back({name, says, false, value, schema});
    return *this;
  }
  // All fields of a part, or of a base.
  template <typename Part, typename... Path>
  Fields& All(Path... path) {
    for (const auto& row : FieldsOf<Part>().rows_) {
      const auto value = [path..., read = row.value](const T& of) { return read(ReadOf(of, path...)); };
      rows_.push_back({row.name, row.says, row.may_be_absent, value, row.schema});
    }
    return *this;
  }

  Json Object(const T& of) const {
    Json object = Json::Object();
    for (const Row& row : rows_) {
      if (std::optional<Json> value = row.value(of)) object.Set(row.name, *std::move(value));
    }
    return object;
  }
  Json Schema(SchemaParts* parts) const {
    Json::Items required;
    Json properties = Json::Object();
    for (const Row& row : rows_) {
      if (!row.may_be_absent) required.emplace_back(row.name);
      properties.Set(row.name, WithDescription(row.schema(parts), row.says));
    }
    return ObjectSchema(std::move(required), std::move(properties));
  }

 private:
  template <typename>
  friend class Fields;
  struct Row {
    const char *name, *says;
    bool may_be_absent;
    std::function<std::optional<Json>(const T&)> value;
    std::function<Json(SchemaParts* parts)> schema;
  };
  std::vector<Row> rows_;
};

template <typename T>
Json JsonOf(const T& value) {
  return JsonType<T>::Value(value);
}

// Of an answer of several kinds: one of `kinds`, which are in `parts`.
Json EitherSchema(const std::string& id, const std::string& title, const Json::Items& kinds, const SchemaParts& parts);

// Of an answer, whose JSON begins with {"schema": "vramplan.NAME/1"}. `T` says kAnswer, "fit", and kTitle.
template <typename T>
Json AnswerSchema() {
  SchemaParts parts;
  const Json object = FieldsOf<T>().Schema(&parts);
  return WholeSchema(std::string("vramplan.") + Described<T>::kAnswer + "/1", Described<T>::kTitle, object, parts);
}
template <typename T>
Json AnswerJson(const T& answer) {
  const Json fields = FieldsOf<T>().Object(answer);
  Json object = Json::Object();
  object.Set("schema", std::string("vramplan.") + Described<T>::kAnswer + "/1");
  for (const auto& [name, value] : std::get<Json::Members>(fields.value())) object.Set(name, value);
  return object;
}

}  // namespace vramplan
