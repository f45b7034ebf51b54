// Result<T>: a value, or the one line that says what is wrong with the input and what to do about it.
//
//   unet.onnx: not an ONNX file: it begins with "<html>" (hint: download it again)
//   ^subject   ^text                                       ^hint
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "graph/base/check.h"

namespace vramplan {

enum class ErrorCode {
  kBadInput,  // exit 1: the file, or what it says, cannot be used
  kUsage,     // exit 2: an option is wrong
  kNoCard,    // exit 4: no card, no driver, or neither answers any more
};

struct Error {
  ErrorCode code = ErrorCode::kBadInput;
  std::string subject;  // file, node or flag
  std::string text;     // one sentence without a full stop
  std::string hint;     // what to type or change; may be empty

  bool operator==(const Error&) const = default;
};

// "subject: text (hint: ...)"
std::string ToString(const Error& error);

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}
  Result(Error error) : state_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  const T& value() const& {
    VRAMPLAN_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  T& value() & {
    VRAMPLAN_CHECK(ok());
    return *std::get_if<T>(&state_);
  }
  T&& value() && {
    VRAMPLAN_CHECK(ok());
    return std::move(*std::get_if<T>(&state_));
  }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const {
    VRAMPLAN_CHECK(!ok());
    return *std::get_if<Error>(&state_);
  }

 private:
  std::variant<T, Error> state_;
};

// For functions that give nothing back.
struct Done {};
using Status = Result<Done>;

}  // namespace vramplan
