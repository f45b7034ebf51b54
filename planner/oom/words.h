// Words: a message as one line, in which numbers are found by the words next to them.
//
//   SizeAfter("tried to allocate ")      "Tried to allocate |2.26 GiB|"
//   SizeBefore(" already allocated")     "|3.14 GiB| already allocated"
//
// Words are looked for without regard to case and given in lower case. Of several places the first behind `origin`
// counts, where the message begins; if there is none, the last in front of it: TensorFlow and ONNX Runtime name the
// operator before they say what failed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "graph/base/bytes.h"

namespace vramplan {

// Terminals and logs wrap and indent, so every run of white space is one blank here. Colours, the bars of a frame, and what
// a launcher or a logger puts in front of each line (a rank, a time) are left out. `within_words`: lines were broken at a
// width, and a break between two letters or digits is none.
std::string Unwrapped(std::string_view text, bool within_words = false);

class Words {
 public:
  // `lower` is LowerCase(text). Both outlive this.
  Words(std::string_view text, std::string_view lower, size_t origin) : text_(text), lower_(lower), origin_(origin) {}

  // Sizes without a unit are none, as of PyTorch, which always prints one.
  void NeedUnits() { need_units_ = true; }

  bool Has(std::string_view words) const { return lower_.find(words) != lower_.npos; }

  // Numbers below zero, also those printed as unsigned ("17179869184.00 GiB"), and beyond 63 bits are Bytes::Max().
  std::optional<Bytes> SizeAfter(std::string_view words) const;
  std::optional<Bytes> SizeBefore(std::string_view words) const;
  // The second of "utilization (|0.9, |19.84 GiB|)", and the first of "|19.77|/22.05 GiB) on startup".
  std::optional<Bytes> SecondSizeAfter(std::string_view words) const;
  std::optional<Bytes> SizeBeforeSlash(std::string_view words) const;

  std::optional<int64_t> NumberAfter(std::string_view words) const;

  // The text between two words: "running |Conv| node". Empty: not there.
  std::string Between(std::string_view left, std::string_view right) const;

 private:
  size_t Find(std::string_view words) const;
  // Where the number begins that ends, with its unit, in front of `end`.
  size_t NumberBefore(size_t end) const;
  std::optional<Bytes> SizeAt(size_t begin) const;

  std::string_view text_, lower_;
  size_t origin_;
  bool need_units_ = false;
};

}  // namespace vramplan
