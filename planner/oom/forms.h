// The wordings of out-of-memory messages, one row each, and what each number in them means. A new wording is a row here
// and a row of tests/planner/oom, with the thread that quotes it.
//
// Words are in lower case. Of several rows for one number the first that finds it counts.
#pragma once

#include <span>

#include "planner/oom/message.h"
#include "planner/oom/words.h"

namespace vramplan {

// What of a text is taken for the cause when it has several messages.
enum class FormRank : uint8_t {
  kMessage,  // of what ran out of memory
  kError,    // a status that a library or driver returned
  kSymptom,  // of a process that was killed
  kWords,    // any sentence about memory that ran out
};

struct Form {
  std::string_view words;  // how its messages begin
  std::string_view kind;
  FormRank rank = FormRank::kMessage;
  MemoryPlace place = MemoryPlace::kCard;
  std::string_view backend = {};
  std::string_view remark = {};
  bool own_word = false;  // one with a capital: "MemoryError" is of the host, "OutOfMemoryError" is not
  bool warning = false;   // that nothing failed for
};
std::span<const Form> Forms();
// Of a refusal of the driver that no row knows more about.
std::string_view RemarkOfDriver();
std::string_view RemarkOfPinning();

// A size: the words in front of it or behind it.
struct SizeWords {
  std::string_view kind;
  std::optional<Bytes> OutOfMemory::*means;
  std::optional<Bytes> (Words::*find)(std::string_view) const;
  std::string_view words;
};
std::span<const SizeWords> SizesOfForms();

struct CountWords {
  std::string_view kind;
  std::optional<int64_t> OutOfMemory::*means;
  std::string_view words;  // in front of it
};
std::span<const CountWords> CountsOfForms();

// A name: what is between two words.
struct NameWords {
  std::string_view kind;
  std::string OutOfMemory::*means;
  std::string_view left, right;
};
std::span<const NameWords> NamesOfForms();

// A part of a compiled program.
struct PartWords {
  std::string_view kind, name, words;
};
std::span<const PartWords> PartsOfForms();

// Words that say which memory it was, where a form serves several.
struct PlaceWords {
  std::string_view kind, words;
  MemoryPlace place;
};
std::span<const PlaceWords> PlacesOfForms();

// Whose capacity a kind of message gives, if not the card's.
std::string_view PoolOf(std::string_view kind, std::string_view backend);

// How much in front of a message belongs to it.
size_t InFrontOf(std::string_view kind);

}  // namespace vramplan
