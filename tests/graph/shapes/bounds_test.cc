#include "graph/shapes/bounds.h"

#include <doctest/doctest.h>

#include "tests/support/onnx_text.h"

namespace vramplan {
namespace {

struct Inferred {
  std::string shapes;  // of the named tensors
  Notes notes;
};

Inferred InferText(std::string_view text, std::initializer_list<const char*> tensors, bool bounds,
                   const BindOptions& options = {}) {
  Inferred result;
  const Graph graph = GraphFromText(text);
  Result<Binding> binding = Bind(graph, options, &result.notes);
  if (!binding.ok()) return {ToString(binding.error()), {}};
  if (bounds) TakeBounds(&*binding);
  const auto shapes = Infer(graph, *binding, &result.notes);
  if (!shapes.ok()) return {ToString(shapes.error()), {}};
  for (const char* name : tensors) {
    const TensorFacts& facts = (*shapes)[TensorNamed(graph, name)];
    result.shapes += (result.shapes.empty() ? "" : " ") + (facts.shape ? ToString(*facts.shape) : std::string("?"));
  }
  return result;
}

constexpr const char* kPicked = R"(
    agraph (float[batch, 9] x) => (float[batch, n] z) {
      y = NonZero (x)
      t = Transpose (y)
      z = GatherND (x, t)
    })";

TEST_CASE("what data decides is unknown, at most so long, or as long as the user says") {
  const Inferred open = InferText(kPicked, {"y", "t", "z"}, false);
  CHECK(open.shapes == "[2, ?] [?, 2] [?]");
  CHECK(open.notes.Has("unknown-shape"));
  const Inferred most = InferText(kPicked, {"y", "t", "z"}, true);
  CHECK(most.shapes == "[2, 9*B] [9*B, 2] [9*B]");
  REQUIRE(most.notes.all().size() == 1);
  CHECK(
      ToString(most.notes.all()[0]) ==
      "warning: NonZero_0: the shape of y depends on data; at most [2, 9*batch] (hint: --dim y:1=N gives the length)");
  for (const bool bounds : {false, true}) {
    const Inferred told = InferText(kPicked, {"y", "z"}, bounds, {.dims = {{"y:1", 40}}});
    CHECK(told.shapes == "[2, 40] [40]");
    CHECK(told.notes.all().empty());
  }
  CHECK(InferText(kPicked, {}, false, {.dims = {{"w:1", 40}}}).shapes ==
        "--dim w:1: the file has no dim of this name (hint: its dims are: batch)");
}

TEST_CASE("two bounds of one length: the smaller is the bound of both, and no contradiction") {
  constexpr const char* kTwoMasks = R"(
    agraph (float[batch, 9] x, float[batch, 5] z) => (float[n] y) {
      a = NonZero (x)
      b = NonZero (z)
      at = Transpose (a)
      bt = Transpose (b)
      ax = GatherND (x, at)
      bz = GatherND (z, bt)
      y = Add (ax, bz)
    })";
  CHECK(InferText(kTwoMasks, {"ax", "bz", "y"}, false).shapes == "[?] [?] [?]");
  const Inferred most = InferText(kTwoMasks, {"ax", "bz", "y"}, true);
  CHECK(most.shapes == "[9*B] [5*B] [5*B]");
  CHECK(most.notes.all().size() == 2);
  CHECK(InferText(kTwoMasks, {"y"}, true, {.dims = {{"a:1", 7}}}).shapes == "[7]");
  CHECK(InferText(kTwoMasks, {"y"}, true, {.dims = {{"y:0", 3}}}).shapes == "[3]");  // behind the bound, too
}

TEST_CASE("a reshape of what is bounded: rounded up; an axis that is taken away has length 1") {
  const Inferred most = InferText(R"(
    agraph (float[batch, 9] x) => (int64[n, 4] y, int64[2] z) <int64[2] four = {-1, 4}, int64[1] one = {1}> {
      a = NonZero (x)
      y = Reshape (a, four)
      z = Squeeze (a, one)
    })",
                                  {"y", "z"}, true);
  CHECK(most.shapes == "[5*B, 4] [2]");
}

TEST_CASE("where bounds contradict each other the outputs are unknown, and the note says what to give") {
  constexpr const char* kSplit = R"(
    agraph (float[batch, 9] x) => (int64[2, 3] y, int64[2, 4] z) <int64[2] lengths = {3, 4}> {
      a = NonZero (x)
      s, t = Split <axis = 1> (a, lengths)
      y = Cast <to = 7> (s)
      z = Cast <to = 7> (t)
    })";
  const Inferred most = InferText(kSplit, {"a", "s"}, true);
  CHECK(most.shapes == "[2, 9*B] ?");
  REQUIRE(most.notes.all().size() >= 2);
  CHECK(ToString(most.notes.all()[1]) ==
        "warning: Split_1: lengths that depend on data contradict each other if all are at their longest: its lengths "
        "do not add up to axis 1 of a [2, 9*batch] (hint: --dim TENSOR:AXIS=N gives such a length)");
  CHECK(InferText(kSplit, {"a", "s", "t"}, true, {.dims = {{"a:1", 7}}}).shapes == "[2, 7] [2, 3] [2, 4]");
  CHECK(InferText(kSplit, {}, true, {.dims = {{"a:1", 8}}}).shapes.find("do not add up") != std::string::npos);
}

TEST_CASE("bounds leave a branch, and a length inside it can be given") {
  constexpr const char* kInside = R"(
    agraph (float[batch, 9] x, bool c) => (float[n] y) <int64[1] all = {-1}> {
      y = If (c) <then_branch = yes () => (float[m] a) { i = NonZero (x)
                                                         t = Transpose (i)
                                                         a = GatherND (x, t) },
                  else_branch = no () => (float[k] b) { b = Reshape (x, all) }>
    })";
  CHECK(InferText(kInside, {"y"}, false).shapes == "[?]");
  const Inferred most = InferText(kInside, {"y"}, true);
  CHECK(most.shapes == "[9*B]");
  REQUIRE(most.notes.all().size() == 1);
  CHECK(most.notes.all()[0].hint == "--dim i:1=N gives the length");
  CHECK(InferText(kInside, {"y"}, true, {.dims = {{"i:1", 200}}}).shapes == "[9*B + 200]");  // at most either
  CHECK(InferText(kInside, {"y"}, true, {.dims = {{"y:0", 4}}}).shapes == "[4]");
}

TEST_CASE("what nothing bounds is said, and how to give it") {
  const Inferred most = InferText(R"(
    agraph (float[batch, 9] x, int64 m) => (int64[n] y) <int64 zero = {0}, int64 one = {1}> {
      y = Range (zero, m, one)
    })",
                                  {"y"}, true);
  CHECK(most.shapes == "[?]");
  CHECK(ToString(most.notes.all()[0]) ==
        "warning: Range_0: the shape of y depends on data, and nothing says how long it can be: [?] "
        "(hint: --dim y:0=N gives the length)");
}

TEST_CASE("of two branches the larger wins") {
  constexpr const char* kBranches = R"(
    agraph (float[batch, 9] x, bool c) => (float[batch, n] y) {
      y = If (c) <then_branch = yes () => (float[batch, m] a) { a = Concat <axis = 1> (x, x) },
                  else_branch = no () => (float[batch, k] b) { b = Relu (x) }>
    })";
  CHECK(InferText(kBranches, {"y"}, false).shapes == "[B, ?]");
  const Inferred most = InferText(kBranches, {"y"}, true);
  CHECK(most.shapes == "[B, 18]");
  CHECK(most.notes.Has("upper-bound"));
}

TEST_CASE("a loop runs as often as its trip count says, at most so where a condition may stop it") {
  constexpr const char* kCounted = R"(
    agraph (float[batch, 9] x, bool c) => (float[batch, 9] last, float[n, batch, 9] all) <int64 trips = {5}> {
      last, all = Loop (trips, %s, x) <body = round (int64 i, bool go, float[batch, 9] a)
                => (bool more, float[batch, 9] b, float[batch, 9] s) {
        more = Identity (go)
        b = Relu (a)
        s = Tanh (b)
      }>
    })";
  const auto with = [&](const char* condition) {
    std::string text = kCounted;
    return text.replace(text.find("%s"), 2, condition);
  };
  CHECK(InferText(with(""), {"last", "all"}, false).shapes == "[B, 9] [5, B, 9]");
  CHECK(InferText(with("c"), {"last", "all"}, false).shapes == "[B, 9] [?, B, 9]");
  CHECK(InferText(with("c"), {"all"}, true).shapes == "[5, B, 9]");
  CHECK(InferText(with("c"), {"all"}, false, {.dims = {{"all:0", 3}}}).shapes == "[3, B, 9]");
}

TEST_CASE("a state that a loop makes longer is not known") {
  CHECK(InferText(R"(
    agraph (float[batch, 9] x, int64 trips) => (float[batch, n] y) {
      y = Loop (trips, , x) <body = round (int64 i, bool go, float[batch, m] a) => (bool more, float[batch, k] b) {
        more = Identity (go)
        b = Concat <axis = 1> (a, x)
      }>
    })",
                  {"y"}, false)
            .shapes == "[B, ?]");
}

TEST_CASE("sequences know their elements, and which of them is taken") {
  constexpr const char* kSequence = R"(
    agraph (float[batch, 9] x, int64 k) => (float[batch, n] y)
        <int64 first = {0}, int64 last = {-1}, int64[2] lengths = {4, 5}> {
      s = SequenceConstruct (x, x)
      c = ConcatFromSequence <axis = 1> (s)
      t = SequenceInsert (s, c)
      a = SequenceAt (t, last)
      b = SequenceAt (t, k)
      e = SequenceErase (t, first)
      n = SequenceLength (e)
      stacked = ConcatFromSequence <axis = 0, new_axis = 1> (s)
      pieces = SplitToSequence <axis = 1> (x, lengths)
      p = SequenceAt (pieces, last)
      none = SequenceEmpty <dtype = 1> ()
      one = SequenceInsert (none, x)
      y = SequenceAt (one, first)
    })";
  CHECK(InferText(kSequence, {"c", "a", "b", "stacked", "p", "y"}, false).shapes ==
        "[B, 18] [B, 18] [B, ?] [2, B, 9] [B, 5] [B, 9]");
  CHECK(InferText(kSequence, {"b"}, true).shapes == "[B, 18]");
}

}  // namespace
}  // namespace vramplan
