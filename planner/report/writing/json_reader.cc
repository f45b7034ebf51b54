#include "planner/report/writing/json_reader.h"

#include <algorithm>
#include <cmath>

namespace vramplan {
namespace {

const Json kNothing;

}  // namespace

JsonReader::JsonReader(const Json& json, std::string file, const char* hint)
    : json_(&json), file_(std::make_shared<File>(File{std::move(file), hint, {}})) {}

JsonReader JsonReader::Below(const Json* json, std::string_view name) const {
  return {json, path_.empty() ? std::string(name) : path_ + "." + std::string(name), file_};
}

JsonReader JsonReader::operator[](const char* name) const {
  As<Json::Members>("is not a JSON object");
  const Json* member = MemberOf(*json_, name);
  const JsonReader below = Below(member == nullptr ? &kNothing : member, name);
  if (member == nullptr) below.Fail("is missing");
  return below;
}

std::optional<JsonReader> JsonReader::Find(const char* name) const {
  As<Json::Members>("is not a JSON object");
  const Json* member = MemberOf(*json_, name);
  if (member == nullptr || std::holds_alternative<std::nullptr_t>(member->value())) return std::nullopt;
  return Below(member, name);
}

std::vector<std::pair<std::string, JsonReader>> JsonReader::Members() const {
  std::vector<std::pair<std::string, JsonReader>> all;
  if (const auto* members = As<Json::Members>("is not a JSON object")) {
    for (const auto& [name, value] : *members) all.emplace_back(name, Below(&value, name));
  }
  return all;
}

std::vector<JsonReader> JsonReader::Items() const {
  std::vector<JsonReader> all;
  if (const auto* items = As<Json::Items>("is not a list")) {
    for (const Json& item : *items) all.push_back({&item, path_ + "[" + std::to_string(all.size()) + "]", file_});
  }
  return all;
}

std::string JsonReader::Text() const {
  const auto* text = As<std::string>("is not a text");
  return text == nullptr ? "" : *text;
}

bool JsonReader::Flag() const {
  const bool* flag = As<bool>("is not true or false");
  return flag != nullptr && *flag;
}

int64_t JsonReader::Whole(int64_t most) const {
  const auto* number = std::get_if<int64_t>(&json_->value());
  if (number != nullptr && *number >= 0 && *number <= most) return *number;
  Fail("is not a whole number from 0 to " + std::to_string(most));
  return 0;
}

double JsonReader::Number(bool above_zero) const {
  double number = -1;
  if (const auto* whole = std::get_if<int64_t>(&json_->value())) number = static_cast<double>(*whole);
  if (const auto* real = std::get_if<double>(&json_->value())) number = *real;
  if (std::isfinite(number) && (above_zero ? number > 0 : number >= 0)) return number;
  Fail(above_zero ? "is not a number above 0" : "is not a number of 0 or more");
  return 1;
}

void JsonReader::Fail(const std::string& text) const {
  if (file_->error) return;
  file_->error =
      Error{ErrorCode::kBadInput, path_.empty() ? file_->name : file_->name + ": " + path_, text, file_->hint};
}

}  // namespace vramplan
