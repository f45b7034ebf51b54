#include "planner/report/writing/json.h"

#include <algorithm>
#include <limits>
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

// Builds the tree as the text is read, so that depth is bounded before anything recurses over it.
class Builder : public nlohmann::json_sax<nlohmann::json> {
 public:
  bool null() override { return Put(Json()); }
  bool boolean(bool value) override { return Put(Json(value)); }
  bool number_integer(number_integer_t value) override { return Put(Json(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<number_unsigned_t>(std::numeric_limits<int64_t>::max());
    return Put(fits ? Json(static_cast<int64_t>(value)) : Json(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return Put(Json(value)); }
  bool string(string_t& value) override { return Put(Json(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return Open(Json::Object()); }
  bool start_array(std::size_t) override { return Open(Json::Array()); }
  bool key(string_t& value) override {
    names_.back() = value;
    return true;
  }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    error = "is not JSON at byte " + std::to_string(position);
    return false;
  }

  Json root;
  std::string error;

 private:
  bool Put(Json value) {
    if (open_.empty()) {
      root = std::move(value);
    } else if (std::holds_alternative<Json::Items>(open_.back().value())) {
      open_.back().Push(std::move(value));
    } else {
      open_.back().Set(names_.back(), std::move(value));
    }
    return true;
  }
  bool Open(Json container) {
    constexpr size_t kDeepest = 256;
    if (open_.size() == kDeepest) {
      error = "is nested more than 256 levels deep";
      return false;
    }
    open_.push_back(std::move(container));
    names_.emplace_back();
    return true;
  }
  bool Close() {
    Json done = std::move(open_.back());
    open_.pop_back();
    names_.pop_back();
    return Put(std::move(done));
  }
  std::vector<Json> open_;
  std::vector<std::string> names_;  // of the member that comes next, by level
};

}  // namespace

Result<Json> ParseJson(const std::string& name, const std::string& text) {
  Builder builder;
  if (!nlohmann::json::sax_parse(text, &builder)) return Error{ErrorCode::kBadInput, name, builder.error, ""};
  return std::move(builder.root);
}

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

std::string PrintCompact(const Json& json) {
  return Convert(json).dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

const Json* MemberOf(const Json& object, std::string_view name) {
  const auto* members = std::get_if<Json::Members>(&object.value());
  if (members == nullptr) return nullptr;
  const auto found = std::ranges::find_if(*members, [&](const auto& member) { return member.first == name; });
  return found == members->end() ? nullptr : &found->second;
}

std::string StringIn(const Json* value) {
  const auto* text = value == nullptr ? nullptr : std::get_if<std::string>(&value->value());
  return text == nullptr ? "" : *text;
}

}  // namespace vramplan
