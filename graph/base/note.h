// Note: something that vramplan went past, and that the reader of a number must know: an assumed default, an operator
// without a rule, a folded batch norm. Notes travel with the result to stderr and into the JSON.
#pragma once

#include <string>
#include <vector>

namespace vramplan {

enum class Severity { kNote, kWarning };

// On which side of the truth an answer may be by what a note says.
enum class Side { kEither, kTooLow, kTooHigh };

struct Note {
  std::string code;  // kebab-case, stable: "assumed-loss", "unknown-operator"
  Severity severity = Severity::kNote;
  std::string subject;  // node, tensor or option; may be empty
  std::string text;
  std::string hint;  // may be empty
  Side side = Side::kEither;

  bool operator==(const Note&) const = default;
};

// The notes of one answer, in the order they came up; equal ones are kept once.
class Notes {
 public:
  void Add(Note note);
  void Append(const Notes& others);
  // `note` in the place of the first of that code, which says less; added when there is none.
  void Replace(const std::string& code, Note note);
  const std::vector<Note>& all() const { return notes_; }
  bool Has(const std::string& code) const;

 private:
  std::vector<Note> notes_;
};

// "warning: subject: text (hint: ...)"
std::string ToString(const Note& note);

}  // namespace vramplan
