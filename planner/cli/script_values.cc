#include "planner/cli/script_values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <sstream>

#include "planner/report/writing/json.h"

namespace vramplan {
namespace {

Error BadKey(const std::string& file, std::string text) {
  return {ErrorCode::kBadInput, file, std::move(text), "type --largest-in FILE:KEY, as config.yaml:data.batch_size"};
}

std::vector<std::string> Parts(const std::string& key) {
  std::vector<std::string> parts;
  std::istringstream stream(key);
  for (std::string part; std::getline(stream, part, '.');) parts.push_back(part);
  return parts;
}

Json JsonOf(const std::string& value) {
  int64_t number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  return status == std::errc() && end == value.data() + value.size() ? Json(number) : Json(value);
}

// `json` with the value at the path from `parts[at]` on replaced.
Result<Json> Replaced(const std::string& file, const Json& json, const std::vector<std::string>& parts, size_t at,
                      const std::string& value) {
  const auto* const members = std::get_if<Json::Members>(&json.value());
  if (members == nullptr) return BadKey(file, "has no key '" + parts[at] + "' there");
  Json object = Json::Object();
  bool found = false;
  for (const auto& [name, member] : *members) {
    if (name != parts[at]) {
      object.Set(name, member);
      continue;
    }
    found = true;
    if (at + 1 == parts.size()) {
      object.Set(name, JsonOf(value));
      continue;
    }
    Result<Json> inner = Replaced(file, member, parts, at + 1, value);
    if (!inner.ok()) return inner.error();
    object.Set(name, *std::move(inner));
  }
  if (!found) return BadKey(file, "has no key '" + parts[at] + "'");
  return object;
}

// A line of YAML: "  batch_size: 8  # samples".
struct YamlLine {
  size_t indent = 0;
  std::string key;               // empty: it has none
  size_t begin = 0, length = 0;  // the value within the line
};

YamlLine ReadYaml(const std::string& line) {
  YamlLine read;
  read.indent = line.find_first_not_of(' ');
  if (read.indent == std::string::npos || line[read.indent] == '#' || line[read.indent] == '-') return read;
  const size_t colon = line.find(':', read.indent);
  if (colon == std::string::npos) return read;
  // A colon within a value has no space behind it.
  if (colon + 1 < line.size() && std::isspace(static_cast<unsigned char>(line[colon + 1])) == 0) return read;
  read.key = line.substr(read.indent, colon - read.indent);
  std::erase_if(read.key, [](char c) { return c == '"' || c == '\'' || c == ' '; });
  read.begin = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
  if (read.begin < line.size() && line[read.begin] == '#') return read;
  const size_t comment = line.find(" #", read.begin);
  const size_t end = comment == std::string::npos ? line.size() : comment;
  const size_t last = line.find_last_not_of(" \t\r", end == 0 ? 0 : end - 1);
  read.length = last == std::string::npos || last < read.begin ? 0 : last + 1 - read.begin;
  return read;
}

Result<std::string> WithYamlKey(const std::string& file, const std::string& text, const std::string& key,
                                const std::string& value) {
  std::vector<std::pair<size_t, std::string>> open;  // the mappings around a line: indent and key
  std::istringstream stream(text);
  std::string out;
  int found = 0;
  for (std::string line; std::getline(stream, line);) {
    const YamlLine read = ReadYaml(line);
    if (!read.key.empty()) {
      while (!open.empty() && open.back().first >= read.indent) open.pop_back();
      open.emplace_back(read.indent, read.key);
      std::string path;
      for (const auto& [indent, part] : open) path += (path.empty() ? "" : ".") + part;
      if (path == key) {
        if (read.length == 0) return BadKey(file, "key '" + key + "' has no plain value on its line");
        line.replace(read.begin, read.length, value);
        ++found;
      }
    }
    out += line + "\n";
  }
  if (found == 0) return BadKey(file, "has no key '" + key + "'");
  if (found > 1) return BadKey(file, "has key '" + key + "' " + std::to_string(found) + " times");
  return out;
}

}  // namespace

std::string WithValues(std::string word, const ScriptValues& values) {
  for (const auto& [name, value] : values) {
    const std::string placeholder = "{" + name + "}";
    for (size_t at = word.find(placeholder); at != std::string::npos; at = word.find(placeholder, at + value.size()))
      word.replace(at, placeholder.size(), value);
  }
  return word;
}

bool HasPlaceholder(const std::vector<std::string>& words, const std::string& name) {
  return std::ranges::any_of(words,
                             [&](const std::string& word) { return word.find("{" + name + "}") != std::string::npos; });
}

Result<std::string> WithKey(const std::string& file, const std::string& text, const std::string& key,
                            const std::string& value) {
  if (!file.ends_with(".json")) return WithYamlKey(file, text, key, value);
  const Result<Json> json = ParseJson(file, text);
  if (!json.ok()) return json.error();
  const Result<Json> changed = Replaced(file, *json, Parts(key), 0, value);
  if (!changed.ok()) return changed.error();
  return Print(*changed);
}

}  // namespace vramplan
