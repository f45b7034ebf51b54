#include "graph/base/note.h"

#include <doctest/doctest.h>

namespace vramplan {
namespace {

TEST_CASE("notes are kept once, in the order they came up") {
  const Note loss{.code = "assumed-loss", .text = "cross-entropy", .hint = "--loss"};
  const Note op{.code = "unknown-operator", .severity = Severity::kWarning, .subject = "Foo_1", .text = "no rule"};
  Notes notes;
  notes.Add(op);
  notes.Add(loss);
  notes.Add(op);
  CHECK(notes.all() == std::vector<Note>{op, loss});
  Notes others;
  others.Add(loss);
  others.Add({.code = "other"});
  notes.Append(others);
  CHECK(notes.all().size() == 3);
  CHECK(notes.Has("assumed-loss"));
  CHECK(!notes.Has("assumed"));
  CHECK(ToString(loss) == "note: cross-entropy (hint: --loss)");
  notes.Replace("assumed-loss", {.code = "known-loss"});
  CHECK(notes.all()[1].code == "known-loss");
  notes.Replace("nothing", {.code = "new"});
  CHECK(notes.all().back().code == "new");
  CHECK(ToString(op) == "warning: Foo_1: no rule");
}

}  // namespace
}  // namespace vramplan
