#include "graph/base/note.h"

#include <algorithm>
#include <utility>

namespace vramplan {

// A file can make a hundred thousand notes; nobody reads more than these.
constexpr size_t kMostNotes = 10'000;

void Notes::Add(Note note) {
  if (notes_.size() > kMostNotes) return;
  if (notes_.size() == kMostNotes)
    note = {"more-notes", Severity::kWarning, "", "there are more notes than are kept", ""};
  if (std::find(notes_.begin(), notes_.end(), note) == notes_.end()) notes_.push_back(std::move(note));
}

void Notes::Append(const Notes& others) {
  for (const Note& note : others.all()) Add(note);
}

void Notes::Replace(const std::string& code, Note note) {
  const auto found = std::find_if(notes_.begin(), notes_.end(), [&](const Note& one) { return one.code == code; });
  if (found == notes_.end()) return Add(std::move(note));
  *found = std::move(note);
}

bool Notes::Has(const std::string& code) const {
  return std::any_of(notes_.begin(), notes_.end(), [&](const Note& note) { return note.code == code; });
}

std::string ToString(const Note& note) {
  std::string line = note.severity == Severity::kWarning ? "warning: " : "note: ";
  if (!note.subject.empty()) line += note.subject + ": ";
  line += note.text;
  if (!note.hint.empty()) line += " (hint: " + note.hint + ")";
  return line;
}

}  // namespace vramplan
