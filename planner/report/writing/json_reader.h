// JsonReader: looks into a JSON value that a file holds. What is wrong reads as nothing; the first thing that was
// wrong, and where it stands, is kept for whoever looks from the same file.
//
//   JsonReader answer(json, "a.json", "name an answer of vramplan estimate");
//   answer["peak"]["device"].Size(); if (answer.error()) ...       "a.json: peak.device", "is missing"
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/base/result.h"
#include "planner/report/writing/json.h"

namespace vramplan {

class JsonReader {
 public:
  // The root of what `file` holds; `hint` goes into the error.
  JsonReader(const Json& json, std::string file, const char* hint);

  // A member of an object.
  JsonReader operator[](const char* name) const;
  // The same; nothing where there is none or it is null.
  std::optional<JsonReader> Find(const char* name) const;
  std::vector<std::pair<std::string, JsonReader>> Members() const;
  std::vector<JsonReader> Items() const;

  std::string Text() const;
  bool Flag() const;
  int64_t Whole(int64_t most) const;     // 0 .. `most`
  double Number(bool above_zero) const;  // or not below it; 1 where it is wrong
  Bytes Size() const { return Bytes::Of(Whole(kMostBytes)); }
  const Json& json() const { return *json_; }

  void Fail(const std::string& text) const;
  const std::optional<Error>& error() const { return file_->error; }

 private:
  static constexpr int64_t kMostBytes = int64_t{1} << 50;
  struct File {
    std::string name;
    const char* hint;
    std::optional<Error> error;
  };
  JsonReader(const Json* json, std::string path, std::shared_ptr<File> file)
      : json_(json), path_(std::move(path)), file_(std::move(file)) {}
  JsonReader Below(const Json* json, std::string_view name) const;
  // What it is, if that is a T.
  template <typename T>
  const T* As(const char* otherwise) const {
    const T* value = std::get_if<T>(&json_->value());
    if (value == nullptr) Fail(otherwise);
    return value;
  }

  const Json* json_;
  std::string path_;  // "peak.device"
  std::shared_ptr<File> file_;
};

}  // namespace vramplan
