// OptionReader: reads typed options one by one into their places; the first error ends it.
//
//   reader.Read("--batch", &options.batch, ParseBatch);      what is not typed keeps its default
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "planner/cli/options.h"

namespace vramplan {

class OptionReader {
 public:
  explicit OptionReader(const TypedOptions& typed) : typed_(typed) {}

  const std::string* Text(const std::string& flag) const {
    const auto found = typed_.find(flag);
    return found == typed_.end() || found->second.empty() ? nullptr : &found->second.back();
  }
  // Puts what `parse` makes of the flag's text into *to.
  template <typename T, typename Parse>
  void Read(const std::string& flag, T* to, Parse parse) {
    const std::string* text = Text(flag);
    if (text == nullptr || error_) return;
    auto parsed = parse(*text);
    if (!parsed.ok()) {
      error_ = parsed.error();
    } else {
      *to = *parsed;
    }
  }
  void Fail(Error error) {
    if (!error_) error_ = std::move(error);
  }
  const std::optional<Error>& error() const { return error_; }

 private:
  const TypedOptions& typed_;
  std::optional<Error> error_;
};

// Seconds above 0 and up to a day.
Result<double> ParseSeconds(const std::string& text);

// Of run: the words behind -- are put in by the parser.
void ReadScript(OptionReader* reader, const TypedOptions& typed, Options* options);
// Of validate and watch.
void ReadOnCard(OptionReader* reader, Verb verb, const std::string& positional, Options* options);

}  // namespace vramplan
