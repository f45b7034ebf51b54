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
      "warning: NonZero_0: the shape of y depends on data; at most [2, 9*batch] (hint: --dim y:AXIS=N gives a length)");
  for (const bool bounds : {false, true}) {
    const Inferred told = InferText(kPicked, {"y", "z"}, bounds, {.dims = {{"y:1", 40}}});
    CHECK(told.shapes == "[2, 40] [40]");
    CHECK(told.notes.all().empty());
  }
  CHECK(InferText(kPicked, {}, false, {.dims = {{"w:1", 40}}}).shapes ==
        "--dim w:1: the file has no dim of this name (hint: its dims are: batch)");
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
