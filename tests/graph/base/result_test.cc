#include "graph/base/result.h"

#include <doctest/doctest.h>

#include "graph/base/note.h"
#include "graph/base/ref.h"

namespace vramplan {
namespace {

TEST_CASE("an error is one line: who, what, what to type") {
  struct Row {
    Error error;
    const char* line;
  };
  const Row rows[] = {
      {{.subject = "unet.onnx", .text = "not an ONNX file", .hint = "download it again"},
       "unet.onnx: not an ONNX file (hint: download it again)"},
      {{.subject = "unet.onnx", .text = "it has no nodes"}, "unet.onnx: it has no nodes"},
      {{.text = "no model given"}, "no model given"},
  };
  for (const Row& row : rows) CHECK_EQ(ToString(row.error), row.line);
}

TEST_CASE("a result is a value or an error") {
  const Result<int> good = 7;
  CHECK(good.ok());
  CHECK_EQ(*good, 7);
  const Result<int> bad = Error{ErrorCode::kUsage, "--batch", "is not a number", ""};
  CHECK(!bad.ok());
  CHECK_EQ(bad.error(), Error{ErrorCode::kUsage, "--batch", "is not a number", ""});
}

TEST_CASE("notes: in order, equal ones once") {
  const Note loss{"assumed-loss", Severity::kNote, "output", "cross-entropy was assumed", "--loss says another"};
  const Note unknown{"unknown-operator", Severity::kWarning, "", "Foo has no rule", ""};
  Notes notes;
  notes.Add(loss);
  notes.Add(unknown);
  notes.Add(loss);
  Notes more;
  more.Add(unknown);
  notes.Append(more);
  REQUIRE_EQ(notes.all().size(), 2);
  CHECK_EQ(ToString(notes.all()[0]), "note: output: cross-entropy was assumed (hint: --loss says another)");
  CHECK_EQ(ToString(notes.all()[1]), "warning: Foo has no rule");
  CHECK(notes.Has("assumed-loss"));
  CHECK(!notes.Has("assumed"));
}

struct Counted : RefCounted<Counted> {
  explicit Counted(int* alive_objects) : alive(alive_objects) { ++*alive; }
  ~Counted() { --*alive; }
  int* alive;
};

TEST_CASE("a reference's count is exact, and the last one frees") {
  int alive = 0;
  Ref<Counted> first = MakeRef<Counted>(&alive);
  CHECK_EQ(first->use_count(), 1);
  {
    Ref<Counted> second = first;
    CHECK_EQ(first->use_count(), 2);
    Ref<Counted> third = std::move(second);
    CHECK_EQ(first->use_count(), 2);
    CHECK(!second);  // NOLINT(bugprone-use-after-move): a moved-from reference is empty
    third = nullptr;
    CHECK_EQ(first->use_count(), 1);
    second = first;
    first = nullptr;
    CHECK_EQ(alive, 1);
  }
  CHECK_EQ(alive, 0);
}

}  // namespace
}  // namespace vramplan
