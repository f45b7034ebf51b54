#include "planner/scripts/values.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string_view>

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

bool IsNumber(const std::string& value) {
  int64_t number = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), number);
  return status == std::errc() && end == value.data() + value.size();
}

// Walks through JSON that is known to be well formed, and finds where the value of a key stands.
class JsonText {
 public:
  explicit JsonText(std::string_view text) : text_(text) { Space(); }

  // The place of the value at the path from `parts[at]` on. Nothing: `parts[*missing]` is not there.
  std::optional<std::pair<size_t, size_t>> Find(const std::vector<std::string>& parts, size_t at, size_t* missing) {
    *missing = at;
    if (text_[at_] != '{') return std::nullopt;
    std::optional<std::pair<size_t, size_t>> found;
    Skip();
    while (text_[at_] != '}') {
      const size_t name = at_;
      Value();
      const std::string_view key = text_.substr(name + 1, text_.find_last_of('"', at_ - 1) - name - 1);
      Skip();  // the colon
      if (!found && key == parts[at] && at + 1 < parts.size()) {
        found = Find(parts, at + 1, missing);
        if (!found) return std::nullopt;
      } else {
        const size_t begin = at_;
        const size_t end = Value();
        if (key == parts[at] && at + 1 == parts.size()) found = {begin, end - begin};
      }
      if (text_[at_] == ',') Skip();
    }
    Skip();
    return found;
  }

 private:
  void Space() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  void Skip() {
    ++at_;
    Space();
  }
  // Passes over a value and the space behind it; the end of the value.
  size_t Value() {
    int depth = 0;
    do {
      const char c = text_[at_];
      if (c == '"') {
        while (text_[++at_] != '"') at_ += text_[at_] == '\\' ? 1 : 0;
        ++at_;
      } else if (c == '{' || c == '[') {
        ++depth;
        ++at_;
      } else if (c == '}' || c == ']') {
        --depth;
        ++at_;
      } else if (depth > 0) {
        ++at_;
      } else {
        at_ = std::min(text_.find_first_of(",}] \t\r\n", at_), text_.size());
      }
    } while (depth > 0);
    const size_t end = at_;
    Space();
    return end;
  }

  std::string_view text_;
  size_t at_ = 0;
};

Result<std::string> WithJsonKey(const std::string& file, std::string text, const std::string& key,
                                const std::string& value) {
  if (const Result<Json> json = ParseJson(file, text); !json.ok()) return json.error();
  const std::vector<std::string> parts = Parts(key);
  size_t missing = 0;
  const auto place = JsonText(text).Find(parts, 0, &missing);
  if (!place) return BadKey(file, "has no key '" + parts[missing] + "'");
  std::string word = Print(IsNumber(value) ? Json(int64_t{std::strtoll(value.c_str(), nullptr, 10)}) : Json(value));
  word.erase(word.find_last_not_of('\n') + 1);
  return text.replace(place->first, place->second, word);
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
  return file.ends_with(".json") ? WithJsonKey(file, text, key, value) : WithYamlKey(file, text, key, value);
}

}  // namespace vramplan
